/**
 * The layout of the core runtime's heap: which of its blocks requests write to. They lie together then, and a request writes to a third of
 * the pages. `native/guest-core/src/heap` says how, and `trace.rs` beside it how they are found: by a run of the guest on the host, with a
 * route of ours.
 */
import { fromFileUrl, join } from '@std/path'
import { joinBytes } from '../../context/join_bytes.ts'
import { BOOTSTRAP_PATH, BOOTSTRAPS } from '../bundle/bootstrap.ts'
import { RUNTIME_FILE } from '../bundle/bundle.ts'
import { SURFACE_PATH } from '../core/core_surface.ts'
import { IsolationUnavailableError } from '../machines/errors.ts'
import { GUEST_PATH, planPrograms, type Program } from '../plan/program.ts'
import { createSeed, encodeControl } from '../wire/request_frame.ts'

/** Where the layout lies in a guest. */
export const LAYOUT_PATH = '/layout'

const ROUTE = new URL('../../../native/guest-core/web/traced_route.ts', import.meta.url)
/** Runs of each request after a load; traced is one more. */
const RUNS = 8
/** More than a traced request needs. */
const MEMORY_BYTES = 128 << 20
/** A traced request takes some ten milliseconds, and a busy host many times that. */
const TRACE_MS = 60_000

/** Traces the guest; its layout. Rejects with `IsolationUnavailableError` where it cannot run here. */
export async function traceLayout(
  binary: string,
  surface: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const plan = await planTraced()
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-layout-' })
  try {
    const files: [path: string, bytes: Uint8Array][] = [
      [SURFACE_PATH, surface],
      [BOOTSTRAP_PATH, new TextEncoder().encode(BOOTSTRAPS.core)],
      [RUNTIME_FILE, plan.runtime.code],
      [GUEST_PATH, plan.bundle.code],
      ['frames', joinBytes(toFrames(plan))],
    ]
    for (const [path, bytes] of files) await Deno.writeFile(join(folder, path), bytes)
    return await run(binary, ['--trace', folder, join(folder, 'frames'), SURFACE_PATH, BOOTSTRAP_PATH])
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

async function planTraced(): Promise<Program> {
  const route = {
    file: 'traced_route.ts',
    path: fromFileUrl(ROUTE),
    pattern: '/traced/:name',
    methods: ['GET'],
    mount: false,
  }
  const { programs, failures } = await planPrograms([route], { defaults: { runtime: 'core' } })
  if (failures.length > 0) throw failures[0]!.error
  return programs[0]!
}

/** Requests behind the last control frame are traced. */
function toFrames({ warmup }: Program): Uint8Array[] {
  const once = warmup.map(({ frame }) => frame)
  const runs = Array.from({ length: RUNS }, () => once).flat()
  return [
    encodeControl({ control: 'load', name: GUEST_PATH, memoryBytes: MEMORY_BYTES, seed: createSeed() }),
    encodeControl({ control: 'describe' }),
    ...runs,
    encodeControl({ control: 'before-snapshot', seed: createSeed() }),
    encodeControl({ control: 'settle' }),
    ...once,
  ]
}

async function run(binary: string, args: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  let output: Deno.CommandOutput
  try {
    const signal = AbortSignal.timeout(TRACE_MS)
    // Variables would be blocks that a base has not.
    output = await new Deno.Command(binary, { args: [...args], clearEnv: true, stdin: 'null', signal })
      .output()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new IsolationUnavailableError(
      `Cannot run the small guest of runtime 'core' to lay out its heap: ${why}`,
    )
  }
  const { code, stdout, stderr } = output
  if (code === 0 && stdout.length > 0) return new Uint8Array(stdout)
  const said = new TextDecoder().decode(stderr).trim()
  throw new IsolationUnavailableError(
    `Cannot lay out the heap of runtime 'core': its guest ended with ${code} and ${stdout.length} bytes, want 0 and a layout: ${said}`,
  )
}
