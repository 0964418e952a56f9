/**
 * A million requests for each server behind `mayfly serve`, with a reset for each request and with machines that go on. Every answer is
 * checked, and what the host holds is sampled. Ends with 1 when an answer was wrong or lost, or when anything grew.
 *
 * | flag              | meaning                                                           |
 * | ----------------- | ----------------------------------------------------------------- |
 * | `--requests n`    | requests for each server in each way, default 1 000 000           |
 * | `--only c,go`     | these servers                                                     |
 * | `--connections n` | kept connections, each with one request at a time, default 8      |
 * | `--write`         | write `results/serve-soak.json` and `.md`                         |
 */
import { parseArgs } from '@std/cli/parse-args'
import { describeMachine, type Machine } from '../machine.ts'
import { markdownTable } from '../markdown.ts'
import { fileOf, startCommand } from '../server.ts'
import { type HostResources, readHostResources, toTrends, type Trend } from '../soak/host_resources.ts'
import { type Counter, prepareCounters } from './counters.ts'
import { askAll } from './counting_client.ts'

const WARM_UP = 200
const SAMPLES = 100
const NATIVE = fileOf('../native')

/** What to run. */
interface Flags {
  readonly requests: number
  readonly connections: number
  readonly only: readonly string[] | undefined
  readonly write: boolean
}

/** One server in one way. */
interface Soaked {
  readonly name: string
  readonly ephemeral: boolean
  readonly requestsPerSecond: number
  readonly wrong: number
  readonly lost: number
  readonly faults: readonly string[]
  /** Before the load, along it at even distances, and behind it. */
  readonly before: HostResources
  readonly samples: readonly HostResources[]
  readonly after: HostResources
  readonly trends: readonly Trend[]
}

/** All of a run. */
interface Report {
  readonly date: string
  readonly machine: Machine
  readonly requests: number
  readonly connections: number
  readonly runs: readonly Soaked[]
}

async function main(args: readonly string[]): Promise<number> {
  const flags = readFlags(args)
  await build()
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-soak-' })
  try {
    const counters = await prepareCounters(folder)
    const chosen = counters.filter(({ name }) => flags.only?.includes(name) ?? true)
    const runs: Soaked[] = []
    for (const counter of chosen) {
      for (const ephemeral of [true, false]) runs.push(await soak(counter, ephemeral, flags))
    }
    const { requests, connections } = flags
    const report = { date: new Date().toISOString(), machine: describeMachine(), requests, connections, runs }
    const page = toMarkdown(report)
    console.log(page)
    if (flags.write) {
      await Deno.writeTextFile(fileOf('results/serve-soak.json'), `${JSON.stringify(report, null, 2)}\n`)
      await Deno.writeTextFile(fileOf('results/serve-soak.md'), page)
    }
    return runs.length > 0 && runs.every(isGood) ? 0 : 1
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

async function soak(
  { name, command, env, options }: Counter,
  ephemeral: boolean,
  { requests, connections }: Flags,
): Promise<Soaked> {
  const server = await startCommand((port) => ({
    name: `mayfly serve ${name}`,
    command: `${NATIVE}/target/release/mayfly-cli`,
    args: [
      'serve',
      ...ephemeral ? ['--ephemeral', '--threads=2'] : ['--threads=1'],
      '--quiet',
      `--warmup=${WARM_UP}`,
      '--max-boot-time=120',
      `--listen=127.0.0.1:${port}`,
      ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`),
      ...options,
      'run',
      ...command,
      '8000',
    ],
    startMs: 150_000,
  }))
  try {
    const samples: HostResources[] = []
    const every = Math.max(1, Math.floor(requests / SAMPLES))
    const before = await readHostResources(server.pid)
    const begin = performance.now()
    const asked = await askAll({
      origin: new URL(server.origin),
      requests,
      connections,
      number: ephemeral ? WARM_UP + 1 : undefined,
      async onAnswer(done) {
        if (done % every === 0) samples.push(await readHostResources(server.pid))
      },
    })
    const requestsPerSecond = requests / ((performance.now() - begin) / 1000)
    const after = await readHostResources(server.pid)
    const soaked = {
      name,
      ephemeral,
      requestsPerSecond,
      ...asked,
      before,
      samples,
      after,
      trends: toTrends(samples),
    }
    console.error(`${name} ${wayOf(soaked)}: ${isGood(soaked) ? 'passed' : 'FAILED'}`)
    return soaked
  } finally {
    await server.stop()
  }
}

function isGood({ wrong, lost, trends }: Soaked): boolean {
  return wrong === 0 && lost === 0 && trends.every(({ constant }) => constant)
}

function wayOf({ ephemeral }: Soaked): string {
  return ephemeral ? 'reset' : 'kept'
}

function toMarkdown({ date, machine, requests, connections, runs }: Report): string {
  const whole = (value: number) => value.toLocaleString('en').replaceAll(',', ' ')
  const text = ['server', 'way', 'constant']
  const head = ['server', 'way', 'a second', 'wrong', 'lost', 'MiB', 'descriptors', 'mappings', 'threads']
  const rows = runs.map((run) => {
    const { name, before, after, trends } = run
    const from = (trend: Trend) => {
      const unit = trend.name === 'rss' ? 1024 : 1
      const values = [before[trend.name], trend.early, trend.late, after[trend.name]]
      return values.map((value) => Math.round(value / unit)).join(' ')
    }
    return [
      name,
      wayOf(run),
      whole(Math.round(run.requestsPerSecond)),
      String(run.wrong),
      String(run.lost),
      ...trends.map(from),
      trends.every(({ constant }) => constant) ? 'yes' : 'NO',
    ]
  })
  const faults = runs.flatMap((run) => run.faults.map((words) => `- ${run.name}, ${wayOf(run)}: ${words}\n`))
  return `# Unmodified servers: ${runs.every(isGood) ? 'passed' : 'FAILED'}

${
    whole(requests)
  } requests for each server in each way, by ${connections} kept connections. What the host holds:
before, mean of the second fifth, mean of the last fifth, after.

${machine.cpu}, ${machine.cores} cores, ${machine.system}; ${date}.

${markdownTable([[...head, 'constant'], ...rows], (column) => !text.includes(column)).join('\n')}

${faults.join('')}`.trimEnd() + '\n'
}

async function build(): Promise<void> {
  const { success } = await new Deno.Command('cargo', {
    args: ['build', '--release', '--locked', '--package', 'mayfly-front'],
    cwd: NATIVE,
    stdin: 'null',
  }).spawn().status
  if (!success) throw new Error('Cannot run the soak: mayfly-cli does not build, see above')
}

function readFlags(args: readonly string[]): Flags {
  const { only, write, ...given } = parseArgs<
    { write: boolean; requests?: string; connections?: string; only?: string }
  >(args, {
    boolean: ['write'],
    string: ['requests', 'connections', 'only'],
    unknown(argument) {
      throw new TypeError(
        `Cannot run the soak: unknown argument ${argument}, want --requests n, --connections n, --only names, --write`,
      )
    },
  })
  const [requests, connections] = [Number(given.requests ?? 1_000_000), Number(given.connections ?? 8)]
  if (![requests, connections].every((value) => Number.isInteger(value) && value >= 1)) {
    throw new TypeError(
      `Cannot run the soak: --requests ${requests} --connections ${connections}, want from 1`,
    )
  }
  return { requests, connections, only: only?.split(','), write }
}

if (import.meta.main) Deno.exit(await main(Deno.args))
