/**
 * Many programs at once: how they start, what they take, and whether it stays so.
 *
 * deno run -A benchmark/programs.ts [--programs 500] [--requests 100000] [--warmup 20] [--budget MiB]
 *
 * Each program is a route with a secret of its own. All are booted, then requests are spread over them; every answer is checked to be its
 * own program's, and memory is measured on the way. Exits with 1 when an answer is wrong or memory grows.
 */
import { parseArgs } from 'node:util'
import { join } from 'node:path'
import { stopEsbuild } from '../src/compiler/esbuild.ts'
import type { BootedProgram, Machines } from '../src/isolate/machines.ts'
import { planPrograms, type Program } from '../src/isolate/program.ts'
import { createSeed, encodeRequest } from '../src/isolate/request_frame.ts'
import { decodeResponse } from '../src/isolate/response_frame.ts'
import { SnapshotProgram } from '../src/isolate/snapshots.ts'
import { openVirtualMachines } from '../src/isolate/virtual_machines.ts'
import { HEADER_MAX } from '../src/isolate/wire.ts'

const MIB = 1 << 20
/** Requests under way at a time. */
const AT_ONCE = 32
const CHECKPOINTS = 10
/** Growth from the second checkpoint to the last that counts as none: allocators breathe. */
const BREATH_BYTES = 48 * MIB

interface Running {
  readonly plan: Program
  readonly booted: BootedProgram
  readonly secret: string
}

/** What the process and its snapshots take, in bytes. */
interface Memory {
  /** Anonymous pages, page tables and snapshots: what is there because of this process. */
  readonly own: number
  /** What the whole machine has left. */
  readonly available: number
}

const { values } = parseArgs({
  options: {
    programs: { type: 'string', default: '500' },
    requests: { type: 'string', default: '100000' },
    warmup: { type: 'string', default: '20' },
    budget: { type: 'string' },
  },
})
const [programs, requests, warmup] = [values.programs, values.requests, values.warmup].map(Number)
const folder = await Deno.makeTempDir({ prefix: 'mayfly-programs-' })
try {
  Deno.exitCode = await run() ? 0 : 1
} finally {
  await Deno.remove(folder, { recursive: true })
  await stopEsbuild()
}

async function run(): Promise<boolean> {
  const plans = await plan()
  const before = await measure([])
  const machines = await openVirtualMachines({
    vms: navigator.hardwareConcurrency,
    queue: 1024,
    ...(values.budget === undefined ? {} : { memoryBudgetMb: Number(values.budget) }),
  })
  try {
    const running = await start(machines, plans)
    const idle = await measure(running)
    tell('programs booted and idle', before, idle, running.length)
    const points: Memory[] = []
    let wrong = 0
    const begin = performance.now()
    for (let point = 0; point < CHECKPOINTS; point++) {
      wrong += await load(machines, running, requests / CHECKPOINTS)
      points.push(await measure(running))
    }
    const seconds = (performance.now() - begin) / 1000
    console.log(`${requests} requests in ${seconds.toFixed(1)} s, ${wrong} wrong`)
    tell('after them', before, points.at(-1)!, running.length)
    console.log(`own memory on the way: ${points.map(({ own }) => mib(own - before.own)).join(' ')} MiB`)
    const growth = points.at(-1)!.own - points[1].own
    if (growth > BREATH_BYTES) console.log(`memory grew by ${mib(growth)} MiB`)
    return wrong === 0 && growth <= BREATH_BYTES
  } finally {
    await machines.close()
  }
}

/** Routes of unlike options, so that each is a program of its own; their runtimes start alike. */
async function plan(): Promise<readonly Program[]> {
  const routes = []
  for (let index = 0; index < programs; index++) {
    const path = join(folder, `r${index}.ts`)
    await Deno.writeTextFile(
      path,
      `export const isolated = { timeoutMs: ${1000 + index}, warmup: ${warmup} }
const secret = 'the secret of ' + ${index}
let count = 0
export const GET = (ctx) => ctx.send.json({ secret, count: ++count })
`,
    )
    routes.push({ file: `r${index}.ts`, path, pattern: `/r${index}`, methods: ['GET'], mount: false })
  }
  const { programs: plans, failures } = await planPrograms(routes)
  for (const { error } of failures) throw error
  return plans
}

async function start(machines: Machines, plans: readonly Program[]): Promise<Running[]> {
  const running: Running[] = []
  const loads: number[] = []
  for (const plan of plans) {
    const booted = await machines.boot(plan)
    const secret = `the secret of ${plan.handlers[0].route.file.slice(1, -3)}`
    running.push({ plan, booted, secret })
    if (booted instanceof SnapshotProgram) loads.push(booted.loadMs)
  }
  const boots = running.map(({ booted }) => booted.bootMs).toSorted((a, b) => a - b)
  const middle = (sorted: number[]) => sorted[sorted.length >> 1].toFixed(1)
  console.log(
    `program start: ${middle(loads.toSorted((a, b) => a - b))} ms to its first request, ${
      middle(boots)
    } ms with the warm-up (medians)`,
  )
  return running
}

/** Requests for one program after another; how many answers were not its own. */
async function load(machines: Machines, running: readonly Running[], count: number): Promise<number> {
  let [next, wrong] = [0, 0]
  const client = async () => {
    while (next < count) {
      const { plan, booted, secret } = running[next++ % running.length]
      const frame = encodeRequest({
        handler: 0,
        method: 'GET',
        url: 'http://localhost/',
        path: '/',
        headers: [['host', 'localhost']],
        seed: createSeed(),
      })
      const { timeoutMs } = plan.options
      const completion = await machines.submit(booted, frame, { timeoutMs, keep: false, line: 0 })
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

async function measure(running: readonly Running[]): Promise<Memory> {
  const status = await Deno.readTextFile('/proc/self/status')
  const system = await Deno.readTextFile('/proc/meminfo')
  const kib = (text: string, name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)![1]) * 1024
  const snapshots = new Map<object, number>()
  for (const { booted } of running) {
    if (!(booted instanceof SnapshotProgram)) continue
    for (const native of [booted.native, booted.base.native]) {
      if (native !== null) snapshots.set(native, native.report.ownBytes)
    }
  }
  const held = [...snapshots.values()].reduce((sum, bytes) => sum + bytes, 0)
  return {
    own: kib(status, 'RssAnon') + kib(status, 'VmPTE') + held,
    available: kib(system, 'MemAvailable'),
  }
}

function tell(what: string, before: Memory, now: Memory, count: number): void {
  const own = now.own - before.own
  const each = (own / count / MIB).toFixed(2)
  console.log(
    `${count} ${what}: ${mib(own)} MiB of its own (${each} MiB each, ${
      Math.floor(1024 / Number(each))
    } in a GiB); ` +
      `the machine has ${mib(before.available - now.available)} MiB less`,
  )
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0)
}
