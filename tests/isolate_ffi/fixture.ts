/** What the tests of the bridge share: the library, the C guest of native/pool, and why they are skipped. */
import { assertEquals } from '@std/assert'
import { fromFileUrl, join } from '@std/path'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { findCargo } from '../../src/isolate/ffi/build/toolchain.ts'
import { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import type { Completion } from '../../src/isolate/machines/completion.ts'
import type { ProgramSpec } from '../../src/isolate/ffi/spec.ts'
import { makeFrame, readFrame, REQUEST, RESPONSE } from '../../src/isolate/wire/wire.ts'

export const ROOT = fromFileUrl(new URL('../..', import.meta.url))

/** Why the library cannot be built here, or null. */
export const NO_CARGO = await findCargo().then(() => null, ({ message }: Error) => message)
const NO_CC = await runs('cc') ? null : 'no C compiler: install gcc and libc6-dev'
/** Why no machine can run here, or null. */
export const NO_MACHINE = NO_CARGO ?? NO_CC ??
  (await canOpen('/dev/kvm') ? null : 'no /dev/kvm that can be opened')

/** A test that is skipped aloud when `missing` says why. */
export function testWith(missing: string | null, name: string, run: () => Promise<void> | void): void {
  if (missing !== null) console.log(`SKIPPED: ${name}: ${missing}`)
  Deno.test({ name, ignore: missing !== null, fn: run })
}

/** Builds the library if need be and opens it. */
export async function openLibrary(): Promise<NativeLibrary> {
  return NativeLibrary.open(await buildLibrary())
}

/** Compiles the guest of native/pool's tests into a folder. */
export async function compileGuest(folder: string): Promise<string> {
  const path = join(folder, 'guest')
  const source = join(ROOT, 'native/pool/tests/pool/guest.c')
  await compile(['-O1', '-w', '-static', '-o', path, source, '-lpthread'])
  return path
}

export async function compile(args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command('cc', { args, stdout: 'null' }).output()
  assertEquals(success, true, new TextDecoder().decode(stderr))
}

/** A program that runs the guest; a frame's header says what it does. */
export function guestSpec(path: string, more: Partial<ProgramSpec> = {}): ProgramSpec {
  return {
    path: '/program',
    args: ['program'],
    mounts: [{ guest: '/program', host: path }],
    writable: '/tmp',
    limits: {
      memoryBytes: 96 << 20,
      outputBytes: 1 << 20,
      logBytes: 4096,
      bootMs: 10_000,
      cpuMs: 0,
      calls: 1_000_000,
      descriptors: 1024,
      threads: 64,
      mappings: 65_530,
    },
    warmup: [{ frame: ask('warm'), runs: 3 }],
    ...more,
  }
}

/** A request frame. */
export function ask(what: string, body = ''): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  return makeFrame(REQUEST, encoder.encode(what), encoder.encode(body))
}

/** The body of an answer; its outcome in brackets where there is none. */
export function told({ outcome, frame }: Pick<Completion, 'outcome' | 'frame'>): string {
  return outcome === 'answered' ? bodyOf(frame) : `(${outcome})`
}

export function bodyOf(frame: Uint8Array<ArrayBuffer>): string {
  return new TextDecoder().decode(readFrame(frame, RESPONSE).body)
}

async function runs(command: string): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, {
      args: ['--version'],
      stdout: 'null',
      stderr: 'null',
    })
      .output()
    return success
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false
    throw error
  }
}

async function canOpen(path: string): Promise<boolean> {
  try {
    const file = await Deno.open(path, { read: true, write: true })
    file.close()
    return true
  } catch {
    return false
  }
}
