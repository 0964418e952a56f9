/**
 * `deno task soak`: a million isolated requests over HTTP, one in twenty of them hostile. Every answer is checked, what the server
 * holds is sampled, and `results/soak.json` and `results/soak.md` tell. Ends with 1 when an answer was wrong or lost, or when
 * anything grew.
 *
 * | flag              | meaning                                                                 |
 * | ----------------- | ----------------------------------------------------------------------- |
 * | `--requests n`    | requests in all, default 1 000 000                                      |
 * | `--hostile share` | share of hostile ones, default 0.05                                     |
 * | `--only-clean n`  | n requests and none hostile; writes `soak-clean.json` and `.md`         |
 * | `--connections n` | kept connections, each with one request at a time, default 8            |
 */
import { fromFileUrl } from '@std/path'
import { describeMachine } from './machine.ts'
import { Durations } from './soak/durations.ts'
import { type HostResources, readHostResources, toTrends } from './soak/host_resources.ts'
import { CLEAN, findFault, HOSTILE, type Kind, kindOf } from './soak/kinds.ts'
import { isGood, type SoakReport, toMarkdown } from './soak/report.ts'
import { ask, type SoakServer, startSoakServer } from './soak/server.ts'

/** What to run. */
interface Plan {
  readonly name: 'soak' | 'soak-clean'
  readonly requests: number
  /** Share of hostile requests, 0 to 1. */
  readonly hostile: number
  readonly connections: number
}

const SAMPLES = 200
/** Faults that the report names; further ones are counted. */
const FAULTS_NAMED = 20

async function main(args: readonly string[]): Promise<number> {
  const plan = readPlan(args)
  const server = await startSoakServer()
  try {
    const report = await soak(server, plan)
    const results = fromFileUrl(new URL('./results/', import.meta.url))
    await Deno.writeTextFile(`${results}${plan.name}.json`, `${JSON.stringify(report, null, 2)}\n`)
    await Deno.writeTextFile(`${results}${plan.name}.md`, toMarkdown(report))
    console.log(toMarkdown(report))
    return isGood(report) ? 0 : 1
  } finally {
    await server.stop()
  }
}

async function soak(server: SoakServer, plan: Plan): Promise<SoakReport> {
  const kinds = new Map<Kind, Durations>([...CLEAN, ...HOSTILE].map((kind) => [kind, new Durations()]))
  const faults: string[] = []
  const samples: HostResources[] = []
  const every = Math.ceil(plan.requests / SAMPLES)
  let [next, done, wrong, lost, hostile] = [0, 0, 0, 0, 0]
  const fault = (kind: Kind, id: number, words: string) => {
    if (faults.length < FAULTS_NAMED) faults.push(`request ${id}, ${kind.name}: ${words}`)
  }
  const begin = performance.now()

  async function connection(): Promise<void> {
    while (next < plan.requests) {
      const id = next++
      const kind = kindOf(id, plan.hostile)
      if (HOSTILE.includes(kind)) hostile++
      const start = performance.now()
      try {
        const { status, text } = await ask(
          `${server.origin}${kind.path}${kind.path.includes('?') ? '' : `?id=${id}`}`,
        )
        kinds.get(kind)!.add(performance.now() - start)
        const words = findFault(kind, id, status, text)
        if (words !== undefined) {
          wrong++
          fault(kind, id, words)
        }
      } catch (error) {
        lost++
        fault(kind, id, `no answer: ${(error as Error).message}`)
      }
      if (++done % every === 0) await sample()
    }
  }

  async function sample(): Promise<void> {
    samples.push(await readHostResources(server.pid))
    if (samples.length % (SAMPLES / 20) !== 0) return
    const { rss, fds, maps, threads } = samples.at(-1)!
    const seconds = ((performance.now() - begin) / 1000).toFixed(0)
    console.error(
      `${done} done in ${seconds} s, ${wrong} wrong, ${lost} lost; ${rss} KiB, ${fds} fds, ${maps} maps, ${threads} threads`,
    )
  }

  await Promise.all(Array.from({ length: plan.connections }, connection))
  const seconds = (performance.now() - begin) / 1000
  return {
    date: new Date().toISOString(),
    commit: await commit(),
    machine: describeMachine(),
    requests: plan.requests,
    hostile,
    connections: plan.connections,
    seconds,
    requestsPerSecond: plan.requests / seconds,
    wrong,
    lost,
    faults,
    trends: toTrends(samples),
    kinds: [...kinds].filter(([, { count }]) => count > 0).map(([{ name, status }, durations]) => ({
      name,
      status,
      count: durations.count,
      p50: durations.quantile(0.5),
      p99: durations.quantile(0.99),
      most: durations.most,
    })),
    samples,
  }
}

function readPlan(args: readonly string[]): Plan {
  const flags = new Map<string, number>()
  for (let i = 0; i < args.length; i += 2) {
    const value = Number(args[i + 1])
    if (!['--requests', '--hostile', '--only-clean', '--connections'].includes(args[i]) || !(value >= 0)) {
      throw new TypeError(
        `Cannot read ${args[i]} ${
          args[i + 1]
        }: want --requests, --hostile, --only-clean or --connections with a number`,
      )
    }
    flags.set(args[i], value)
  }
  const clean = flags.get('--only-clean')
  return {
    name: clean === undefined ? 'soak' : 'soak-clean',
    requests: clean ?? flags.get('--requests') ?? 1_000_000,
    hostile: clean === undefined ? flags.get('--hostile') ?? 0.05 : 0,
    connections: flags.get('--connections') ?? 8,
  }
}

async function commit(): Promise<string> {
  const { stdout } = await new Deno.Command('git', { args: ['rev-parse', '--short', 'HEAD'], stderr: 'null' })
    .output()
  return new TextDecoder().decode(stdout).trim()
}

if (import.meta.main) Deno.exit(await main(Deno.args))
