/**
 * Many programs at once, every second one under the runtime core: how they start, what they take, and whether it stays so.
 *
 * deno run -A benchmark/programs.ts [--programs 500] [--requests 100000] [--warmup 20] [--budget MiB]
 *
 * Each program is a route with a secret of its own. All are booted, then requests are spread over them; every answer is checked to be its
 * own program's, and memory is measured on the way. Writes `results/programs.json` and `results/programs.md`. Exits with 1 when an answer
 * is wrong, or memory grows or is over what 500 programs may take.
 */
import { parseArgs } from '@std/cli/parse-args'
import { stopEsbuild } from '../src/compiler/esbuild.ts'
import type { BootedProgram, Machines } from '../src/isolate/machines/machines.ts'
import type { Program } from '../src/isolate/plan/program.ts'
import { decodeResponse } from '../src/isolate/wire/response_frame.ts'
import { SnapshotProgram } from '../src/isolate/boot/snapshots.ts'
import { openVirtualMachines } from '../src/isolate/boot/virtual_machines.ts'
import { HEADER_MAX } from '../src/isolate/wire/wire.ts'
import { describeMachine } from './machine.ts'
import { judgeMemory, LIMIT_BYTES, measureMemory, type ProgramsMemory } from './programs/memory.ts'
import { encodeGet, planTexts } from './programs/plan.ts'
import { type ProgramsReport, type ProgramsStart, toProgramsMarkdown } from './programs/report.ts'
import { median } from './statistics.ts'

const MIB = 1 << 20
/** Requests under way at a time. */
const AT_ONCE = 32
const CHECKPOINTS = 10
const RUNTIMES = ['deno', 'core'] as const
type Runtime = (typeof RUNTIMES)[number]

interface Running {
  readonly plan: Program
  readonly booted: BootedProgram
  readonly secret: string
}

const values = parseArgs<{ programs?: string; requests?: string; warmup?: string; budget?: string }>(
  Deno.args,
  {
    string: ['programs', 'requests', 'warmup', 'budget'],
    unknown(argument) {
      throw new TypeError(`Cannot run the benchmark: unknown argument ${argument}`)
    },
  },
)
const [programs, requests, warmup] = [values.programs ?? 500, values.requests ?? 100_000, values.warmup ?? 20]
  .map(Number)
const folder = await Deno.makeTempDir({ prefix: 'mayfly-programs-' })
try {
  Deno.exitCode = await run() ? 0 : 1
} finally {
  await Deno.remove(folder, { recursive: true })
  await stopEsbuild()
}

async function run(): Promise<boolean> {
  const plans = await plan()
  const before = await measureMemory()
  const machines = await openVirtualMachines({
    vms: navigator.hardwareConcurrency,
    queue: 1024,
    ...(values.budget === undefined ? {} : { memoryBudgetMb: Number(values.budget) }),
  })
  try {
    const running = await start(machines, plans)
    const idle = await measureMemory()
    const points: ProgramsMemory[] = []
    let wrong = 0
    const begin = performance.now()
    for (let point = 0; point < CHECKPOINTS; point++) {
      wrong += await load(machines, running, requests / CHECKPOINTS)
      points.push(await measureMemory())
    }
    const seconds = (performance.now() - begin) / 1000
    const { constant, within } = judgeMemory(idle, points)
    const report: ProgramsReport = {
      machine: describeMachine(),
      date: new Date().toISOString(),
      programs,
      requests,
      warmup,
      seconds,
      wrong,
      starts: RUNTIMES.map((runtime) => toStart(runtime, running)),
      before,
      idle,
      points,
      limitBytes: LIMIT_BYTES,
      constant,
      good: wrong === 0 && constant && within,
    }
    const folder = new URL('./results/', import.meta.url)
    await Deno.writeTextFile(new URL('programs.json', folder), `${JSON.stringify(report, null, 2)}\n`)
    await Deno.writeTextFile(new URL('programs.md', folder), toProgramsMarkdown(report))
    console.log(toProgramsMarkdown(report))
    return report.good
  } finally {
    await machines.close()
  }
}

function toStart(runtime: Runtime, running: readonly Running[]): ProgramsStart {
  const own = running.flatMap(({ plan, booted }) =>
    plan.options.runtime === runtime && booted instanceof SnapshotProgram ? booted : []
  )
  const middle = (value: (program: SnapshotProgram) => number) => median(own.map(value)) ?? 0
  const base = own[0]?.base.native.report
  return {
    runtime,
    programs: own.length,
    baseBootMs: (base?.bootUs ?? 0) / 1000,
    baseBytes: base?.ownBytes ?? 0,
    loadMs: middle(({ loadMs }) => loadMs),
    bootMs: middle(({ bootMs }) => bootMs),
    // A program over the budget is not there to be asked.
    deltaBytes: median(own.flatMap(({ native }) => native?.report.ownBytes ?? [])) ?? 0,
  }
}

/** Routes of unlike options, so that each is a program of its own; those of one runtime start alike. */
async function plan(): Promise<readonly Program[]> {
  const texts: Record<string, string> = {}
  for (let index = 0; index < programs; index++) {
    texts[`r${index}.ts`] = `export const isolated = { runtime: '${RUNTIMES[index % 2]}', timeoutMs: ${
      1000 + index
    }, warmup: ${warmup} }
const secret = 'the secret of ' + ${index}
let count = 0
export const GET = (ctx) => ctx.send.json({ secret, count: ++count })
`
  }
  return await planTexts(folder, texts)
}

async function start(machines: Machines, plans: readonly Program[]): Promise<Running[]> {
  const running: Running[] = []
  for (const plan of plans) {
    const booted = await machines.boot(plan)
    running.push({ plan, booted, secret: `the secret of ${plan.handlers[0].route.file.slice(1, -3)}` })
  }
  return running
}

/** Requests for one program after another; how many answers were not its own. */
async function load(machines: Machines, running: readonly Running[], count: number): Promise<number> {
  let [next, wrong] = [0, 0]
  const client = async () => {
    while (next < count) {
      const { plan, booted, secret } = running[next++ % running.length]
      const { timeoutMs } = plan.options
      const completion = await machines.submit(booted, encodeGet(), { timeoutMs, keep: false, flow: 0 })
      if (completion.outcome !== 'answered') {
        wrong++
        continue
      }
      const { body } = decodeResponse(completion.frame, { header: HEADER_MAX, body: MIB })
      if (new TextDecoder().decode(body) !== JSON.stringify({ secret, count: 1 })) wrong++
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  return wrong
}
