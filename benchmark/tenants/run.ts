/**
 * `deno task bench --tenants`: 2000 tenants of which 50 are busy, and one of them beside tenants that do harm. Flags:
 *
 * - `--quick`: few requests and one round, written to `quick.tenants.*`
 * - `--rounds 9`: of the neighbours, `--seconds 2`: seconds of each watch
 *
 * The server is a process of its own, each attacker another. In each round the neighbour is alone before each attacker, and its p99 beside
 * that one is compared with all its times alone in the round; the median of the rounds counts.
 */
import { fromFileUrl } from '@std/path'
import { Agent, request } from 'undici'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { runExchanges } from '../isolated/closed_loop.ts'
import { describeMachine } from '../machine.ts'
import { type Attacker, startAttacker } from '../neighbours/attacker.ts'
import { askEvenly, sleep } from '../neighbours/open_loop.ts'
import { Tally, toRows } from '../neighbours/rows.ts'
import { measureMemory, type ProgramsMemory } from '../programs/memory.ts'
import { readRunFlags } from '../run_flags.ts'
import { fileOf, type RunningServer, startCommand } from '../server.ts'
import { median } from '../statistics.ts'
import { answerOf, BUSY, HARMS, hostOf, NEIGHBOUR, TENANTS } from './plan.ts'
import { toTenantsPage } from './report.ts'
import { type CrowdRun, type TenantsReport, toTenantsFigures } from './results.ts'

const REQUESTS = 100_000
const QUICK_REQUESTS = 5000
const CONNECTIONS = 8
/** Seconds of load between two looks at the memory. */
const STEP_SECONDS = 5
/** Points that are kept. */
const POINTS = 10
/** The first attacks of a kind meet a scheduler that has not seen them yet. */
const LEAD_MS = 500
/** Longest time until the server answers. */
const START_MS = 120_000
/** Until the neighbour has its snapshot, behind those of the busy ones. */
const WARM_UP_SECONDS = 5
const PATH = '/hello'

/** Measures, prints and writes. Resolves to whether everything held. */
export async function main(args: readonly string[]): Promise<boolean> {
  const { whole, rounds, length: seconds } = readRunFlags(args, 'seconds', { whole: [9, 2], quick: [1, 1] })
  await buildLibrary()
  const server = await startCommand((port) => ({
    name: 'the server of tenants',
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf('tenants/server.ts')],
    env: { PORT: `${port}`, DENO_ENV: 'production' },
    startMs: START_MS,
  }))
  const loads: number[] = []
  const agent = new Agent()
  try {
    const crowd = await askCrowd(server, whole ? REQUESTS : QUICK_REQUESTS)
    const [alone, ...beside] = ['nobody', ...HARMS.map(({ title }) => title)].map((name) => new Tally(name))
    const ask = (id: number) => askNeighbour(server.origin, id, agent)
    await askEvenly(ask, new Tally('warm-up'), 0, WARM_UP_SECONDS)
    for (let round = 0; round < rounds; round++) {
      for (const [i, harm] of HARMS.entries()) {
        loads.push(Deno.loadavg()[0])
        await askEvenly(ask, alone, round, seconds)
        const target = { origin: server.origin, path: PATH, host: hostOf(harm.name) }
        await using attacker: Attacker = await startAttacker(target, harm.connections)
        await sleep(LEAD_MS)
        await askEvenly(ask, beside[i], round, seconds)
        beside[i].attacks += await attacker.stop()
        console.error(`round ${round}, ${harm.title}`)
      }
    }
    const report: TenantsReport = {
      machine: describeMachine(),
      date: new Date().toISOString(),
      command: ['deno task bench --tenants', ...args].join(' '),
      loadAverage: median(loads)!,
      crowd,
      rounds,
      seconds,
      rows: toRows([alone, ...beside]),
    }
    await save(report, whole ? 'tenants' : 'quick.tenants')
    return toTenantsFigures(report).every(({ reached }) => reached)
  } finally {
    await agent.close()
    await server.stop()
  }
}

/** Each tenant once, then the busy ones. */
async function askCrowd({ origin, pid }: RunningServer, requests: number): Promise<CrowdRun> {
  const encoder = new TextEncoder()
  const url = new URL(origin)
  const exchangeOf = (who: number) => ({
    request: encoder.encode(`GET ${PATH} HTTP/1.1\r\nHost: ${hostOf(who)}\r\n\r\n`),
    wanted: encoder.encode(answerOf(who, PATH)),
  })
  let [done, failures, next] = [0, 0, 0]
  const run = async (of: number, seconds: number) => {
    const result = await runExchanges(url, () => exchangeOf(next++ % of), {
      connections: CONNECTIONS,
      seconds,
      warmUp: 0,
    })
    failures += result.failures
    return result.requests
  }
  const begin = performance.now()
  while (next < TENANTS) await run(TENANTS, 1)
  const first = await measureMemory(pid)
  const looks: ProgramsMemory[] = []
  while (done < requests) {
    done += await run(BUSY, STEP_SECONDS)
    looks.push(await measureMemory(pid))
    console.error(`${done} requests of ${requests}`)
  }
  const kept = Math.min(POINTS, looks.length)
  const points = Array.from({ length: kept }, (_, i) => looks[Math.ceil((i + 1) * looks.length / kept) - 1]!)
  const seconds = (performance.now() - begin) / 1000
  return { tenants: TENANTS, busy: BUSY, requests: done, seconds, failures, first, points }
}

/** Asks the neighbour; whether the answer was right. */
async function askNeighbour(origin: string, id: number, dispatcher: Agent): Promise<boolean> {
  const path = `/${id}`
  const headers = { host: hostOf(NEIGHBOUR) }
  const { statusCode, body } = await request(`${origin}${path}`, { headers, dispatcher })
  return await body.text() === answerOf(NEIGHBOUR, path) && statusCode === 200
}

async function save(report: TenantsReport, name: string): Promise<void> {
  const page = toTenantsPage(report)
  console.log(`\n${page}`)
  const folder = fromFileUrl(new URL('../results/', import.meta.url))
  await Deno.writeTextFile(`${folder}${name}.json`, `${JSON.stringify(report, null, 2)}\n`)
  await Deno.writeTextFile(`${folder}${name}.md`, page)
  console.log(`written: ${folder}${name}.json and ${name}.md`)
}
