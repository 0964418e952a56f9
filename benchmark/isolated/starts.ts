/**
 * How hello programs of each runtime start and what they take, in a process of its own. Prints {@link StartsResult} as JSON.
 */
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import type { Machines } from '../../src/isolate/machines/machines.ts'
import type { IsolateRuntime } from '../../src/isolate/plan/options.ts'
import type { Program } from '../../src/isolate/plan/program.ts'
import { SnapshotProgram } from '../../src/isolate/boot/snapshots.ts'
import { openVirtualMachines } from '../../src/isolate/boot/virtual_machines.ts'
import { measureMemory } from '../programs/memory.ts'
import { encodeGet, planTexts } from '../programs/plan.ts'
import { median } from '../statistics.ts'

/** Programs of one runtime; medians. */
export interface RuntimeStart {
  /** Boot of the runtime until it waits for a program. */
  readonly baseBootMs: number
  readonly baseBytes: number
  /** From the base to the first answer, without a warm-up. */
  readonly startMs: number
  /** What a program differs in from its base: without a warm-up, and with the usual one. */
  readonly coldDeltaBytes: number
  readonly warmDeltaBytes: number
  /** What one more warm program takes of the host, with a machine that has answered. */
  readonly programBytes: number
}

/** By runtime. */
export type StartsResult = Readonly<Record<IsolateRuntime, RuntimeStart>>

const RUNTIMES: readonly IsolateRuntime[] = ['deno', 'core']
const COLD = 12
const WARM = 12
const HELLO_MS = 5000

async function measure(runtime: IsolateRuntime, folder: string): Promise<RuntimeStart> {
  const machines = await openVirtualMachines({ vms: 1, queue: 16 })
  try {
    const [first, ...cold] = await plan(runtime, folder, COLD + 1, 0)
    const base = await answered(machines, first)
    const starts: number[] = []
    const coldDeltas: number[] = []
    for (const program of cold) {
      const begin = performance.now()
      const booted = await answered(machines, program)
      starts.push(performance.now() - begin)
      coldDeltas.push(deltaOf(booted))
    }
    const warm = await plan(runtime, folder, WARM + 1)
    await answered(machines, warm[0])
    const before = await measureMemory()
    const warmDeltas: number[] = []
    for (const program of warm.slice(1)) warmDeltas.push(deltaOf(await answered(machines, program)))
    const after = await measureMemory()
    const { bootUs, ownBytes } = base.base.native.report
    return {
      baseBootMs: bootUs / 1000,
      baseBytes: ownBytes,
      startMs: median(starts)!,
      coldDeltaBytes: median(coldDeltas)!,
      warmDeltaBytes: median(warmDeltas)!,
      programBytes: (after.bytes - before.bytes) / WARM,
    }
  } finally {
    await machines.close()
  }
}

/** Hellos of unlike options, so that each is a program of its own. */
async function plan(
  runtime: IsolateRuntime,
  folder: string,
  count: number,
  warmup?: number,
): Promise<readonly Program[]> {
  const texts: Record<string, string> = {}
  for (let index = 0; index < count; index++) {
    const options = { runtime, timeoutMs: HELLO_MS + index, warmup }
    texts[`${runtime}-${warmup ?? 'warm'}-${index}.ts`] = `export const isolated = ${JSON.stringify(options)}
export const GET = (ctx) => ctx.send.json({ hello: 'world!' })
`
  }
  return await planTexts(folder, texts)
}

/** Boots a program and waits for its first answer. */
async function answered(machines: Machines, program: Program): Promise<SnapshotProgram> {
  const booted = await machines.boot(program)
  const { outcome, message } = await machines.submit(booted, encodeGet(), {
    timeoutMs: HELLO_MS,
    keep: false,
    flow: 0,
  })
  if (outcome !== 'answered') throw new Error(`Cannot measure a hello: ${outcome} ${message}, want an answer`)
  if (!(booted instanceof SnapshotProgram)) throw new Error('Cannot measure a program: it has no snapshot')
  return booted
}

function deltaOf({ native }: SnapshotProgram): number {
  if (native === null) throw new Error('Cannot measure a delta: the program was dropped, want it in memory')
  return native.report.ownBytes
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-starts-' })
  try {
    const result: Partial<Record<IsolateRuntime, RuntimeStart>> = {}
    for (const runtime of RUNTIMES) result[runtime] = await measure(runtime, folder)
    console.log(JSON.stringify(result))
  } finally {
    await Deno.remove(folder, { recursive: true })
    await stopEsbuild()
  }
}
