/**
 * Bases: runtimes that have started and wait to be told which program to load. A program continues from one, so that it costs what it
 * differs in; programs whose runtimes start alike share one, and with it most of their memory.
 *
 * ```text
 * boot of the runtime -> base -+-> load, warm-up -> program
 *                              +-> load, warm-up -> program   (each sees the base, and nothing of the others)
 * ```
 */
import { RUNTIME_FILE } from './bundle.ts'
import type { NativeLibrary } from './ffi/library.ts'
import { NativeProgram } from './ffi/native_program.ts'
import type { LoadSpec, ProgramSpec } from './ffi/spec.ts'
import { DEFAULT_LIMITS } from './options.ts'
import { GUEST_PATH, type Program } from './program.ts'
import { createSeed, encodeControl } from './request_frame.ts'

/** A base, held by a program for as long as it may be loaded again. */
export interface HeldBase {
  readonly native: NativeProgram
  /** Lets go of it; the last one frees it. A second time does nothing. */
  release(): Promise<void>
}

/** Memory of the runtime itself beside that of a request. */
const RUNTIME_BYTES = 64 << 20
const BOOT_MS = 60_000
/** Where the script that waits lies in the guest. */
const BOOTSTRAP_PATH = '/bootstrap.js'

/**
 * What Deno runs in a base. It reads a module that is none of its own first: what Deno needs for that is there then, and shared, when
 * it loads a program.
 */
const BOOTSTRAP = `import { awaitProgram } from './${RUNTIME_FILE}'
await import('data:text/javascript,export default 1')
awaitProgram()
`

/** Stock Deno before it has a program, with its own libraries and nothing else of the host. It may read the file that it will load. */
export function toBaseSpec({ args, env, options, runtime }: Program): ProgramSpec {
  const deno = Deno.execPath()
  return {
    path: '/bin/deno',
    args: ['deno', ...args.slice(0, -1), `--allow-read=${GUEST_PATH}`, BOOTSTRAP_PATH],
    env,
    mounts: [{ guest: '/bin/deno', host: deno }],
    libraries: [deno],
    files: [
      { guest: BOOTSTRAP_PATH, bytes: new TextEncoder().encode(BOOTSTRAP) },
      { guest: `/${RUNTIME_FILE}`, bytes: runtime.code },
    ],
    // Or all programs of a base would draw the same numbers.
    draws: true,
    clockUs: options.coarseClockUs,
    limits: {
      memoryBytes: memoryBytes(options),
      outputBytes: 0, // no answer has a body
      logBytes: DEFAULT_LIMITS.logBytes,
      bootMs: BOOT_MS,
      cpuMs: 0,
      calls: DEFAULT_LIMITS.systemCalls,
      descriptors: DEFAULT_LIMITS.files,
      threads: DEFAULT_LIMITS.threads,
      mappings: DEFAULT_LIMITS.mappings,
    },
  }
}

/** A program for its base, without a warm-up. */
export function toLoadSpec({ bundle, options }: Program, base: NativeProgram): LoadSpec {
  const { cpuMs, outputBytes, limits } = options
  return {
    base: base.handle,
    frame: encodeControl({ control: 'load', name: GUEST_PATH, seed: createSeed() }),
    files: [{ guest: GUEST_PATH, bytes: bundle.code }],
    draws: true,
    limits: {
      memoryBytes: memoryBytes(options),
      outputBytes,
      logBytes: limits.logBytes,
      bootMs: BOOT_MS,
      cpuMs,
      calls: limits.systemCalls,
      descriptors: limits.files,
      threads: limits.threads,
      mappings: limits.mappings,
    },
  }
}

function memoryBytes({ memoryMb }: Program['options']): number {
  return RUNTIME_BYTES + memoryMb * (1 << 20)
}

/**
 * All that a base was started with: what it read of it cannot be changed afterwards, so only programs that agree in all of it share one.
 * Values of variables are part of it; a program without them never meets a base that has them.
 */
export function baseKey({ path, args, env, mounts, clockUs, limits }: ProgramSpec): string {
  return JSON.stringify([path, args, Object.entries(env ?? {}).sort(), mounts, clockUs, limits])
}

interface Entry {
  readonly native: Promise<NativeProgram>
  holders: number
  /** Host memory, known once it has booted. */
  bytes: number
}

/** The bases of one library, each booted when the first program needs it and freed after the last one. */
export class Bases {
  readonly #library: NativeLibrary
  readonly #entries = new Map<string, Entry>()

  constructor(library: NativeLibrary) {
    this.#library = library
  }

  /** The base of a program. Rejects as {@link NativeProgram.boot} does; a boot that failed is tried again by the next caller. */
  async hold(plan: Program): Promise<HeldBase> {
    const spec = toBaseSpec(plan)
    const key = baseKey(spec)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { native: NativeProgram.boot(this.#library, spec), holders: 0, bytes: 0 }
      this.#entries.set(key, entry)
    }
    entry.holders++
    try {
      const native = await entry.native
      entry.bytes = native.report.ownBytes
      let held = true
      return {
        native,
        release: async () => {
          if (!held) return
          held = false
          await this.#letGo(key, entry)
        },
      }
    } catch (error) {
      entry.holders--
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
      throw error
    }
  }

  /** Bytes of host memory that the bases take. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async #letGo(key: string, entry: Entry): Promise<void> {
    if (--entry.holders > 0) return
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    await (await entry.native).close()
  }
}
