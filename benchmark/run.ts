/**
 * `deno task bench`: every server on every route, checked, then timed, in fresh processes and in turn. Flags:
 *
 * - `--quick`: runs of 2 s instead of 30 s
 * - `--seconds 10`: runs of so many seconds
 * - `--only /test,/test-cpu`: these routes (the slash may be left out)
 * - `--rounds 5`: default 3
 * - `--match`, `--template`, `--reload`: the benchmarks of those rooms instead
 * - `--packages`: npm packages isolated and plain instead, with flags of its own (packages/run.ts)
 * - `--reach`: what it costs a program to ask the host (reach/run.ts)
 * - `--serve`: unmodified servers behind `mayfly serve`, with flags of its own (serve/run.ts)
 * - `--sandbox`: code that arrives at runtime instead, with flags of its own (sandbox/run.ts)
 * - `--tenants`: many tenants, and neighbours that do harm, instead (tenants/run.ts)
 * - `--isolated`: isolated handlers instead, with flags of its own (isolated/run.ts)
 */
import { parseArgs } from '@std/cli/parse-args'
import { fromFileUrl } from '@std/path'
import { drawChart } from './chart.ts'
import { describeMachine } from './machine.ts'
import { writeReadmeTable } from './markdown.ts'
import { type Group, GROUPS, type ServerName, targets } from './plan.ts'
import { formatMachine, formatReport, type Report, toMarkdown, toSummary } from './report.ts'
import { checkAnswer, headerNames, loadRoute, startServer } from './server.ts'
import { type Run, toFigures, toRows } from './statistics.ts'

interface Settings {
  readonly quick: boolean
  readonly groups: readonly Group[]
  readonly rounds: number
  /** Seconds. */
  readonly warmUp: number
  readonly duration: number
}

const OTHERS: Readonly<Record<string, string>> = {
  '--match': './match.ts',
  '--template': './template.ts',
  '--reload': './reload.ts',
}

/** Reads the flags. Throws `TypeError` for one that is unknown and for a route that there is not. */
export function toSettings(args: readonly string[]): Settings {
  const { quick, only, ...given } = parseArgs<
    { quick: boolean; rounds?: string; seconds?: string; only?: string }
  >(args, {
    boolean: ['quick'],
    string: ['rounds', 'seconds', 'only'],
    unknown(argument) {
      throw new TypeError(
        `Cannot run the benchmark: unknown argument ${argument}, want --quick, --rounds n, --seconds n, --only routes`,
      )
    },
  })
  const groups = only === undefined ? GROUPS : selectGroups(only)
  const rounds = Number(given.rounds ?? 3)
  const seconds = given.seconds === undefined ? undefined : Number(given.seconds)
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new TypeError(`Cannot run the benchmark: --rounds is ${rounds}, want a number from 1`)
  }
  const duration = seconds ?? (quick ? 2 : 30)
  if (!Number.isInteger(duration) || duration < 1) {
    throw new TypeError(`Cannot run the benchmark: --seconds is ${seconds}, want a whole number from 1`)
  }
  return { quick, groups, rounds, warmUp: quick ? 1 : 3, duration }
}

function selectGroups(list: string): readonly Group[] {
  const wanted = list.split(',').map((route) => route.startsWith('/') ? route : `/${route}`)
  for (const route of wanted) {
    if (GROUPS.some((group) => group.route === route)) continue
    throw new TypeError(
      `Cannot run the benchmark: no route ${route}, want some of ${
        GROUPS.map(({ route }) => route).join(' ')
      }`,
    )
  }
  return GROUPS.filter(({ route }) => wanted.includes(route))
}

async function bench(settings: Settings): Promise<Report> {
  const { groups, rounds, duration } = settings
  const runs: Run[] = []
  const skipped: Report['skipped'][number][] = []
  for (let round = 0; round < rounds; round++) {
    for (const { route, servers } of groups) {
      const headers = new Map<ServerName, string>()
      for (const server of rotate(servers, round)) {
        if (skipped.some((item) => item.route === route && item.server === server)) continue
        const result = await measure(server, route, settings, headers)
        if (typeof result === 'string') skipped.push({ route, server, reason: result })
        else runs.push({ round, server, route, ...result })
      }
      compareHeaders(route, headers)
    }
  }
  const machine = describeMachine()
  return {
    machine,
    date: new Date().toISOString(),
    command: ['deno task bench', ...Deno.args].join(' '),
    duration,
    rounds,
    skipped,
    rows: toRows(runs),
    figures: toFigures(runs, targets(machine.cores)),
    runs,
  }
}

/** Times one server on one route, in a fresh process; the reason when its answer is not right. */
async function measure(
  name: ServerName,
  route: string,
  { warmUp, duration }: Settings,
  headers: Map<ServerName, string>,
): Promise<Omit<Run, 'round' | 'server' | 'route'> | string> {
  const server = await startServer(name)
  try {
    const fault = await checkAnswer(server, route)
    if (fault !== undefined) {
      // Without a virtual machine an isolated route has no answer; anything else is a broken benchmark.
      if (name === 'mayfly-isolated' && fault.startsWith('status 503')) return fault
      throw new Error(`Cannot time ${route} on ${name}: ${fault}`)
    }
    headers.set(name, await headerNames(server, route))
    const load = await loadRoute(server, route, warmUp, duration)
    console.error(`${route.padEnd(22)} ${name.padEnd(16)} ${Math.round(load.requestsPerSecond)} req/s`)
    return load
  } finally {
    await server.stop()
  }
}

/** Servers that send other headers do other work. */
function compareHeaders(route: string, headers: ReadonlyMap<ServerName, string>): void {
  const distinct = new Set(headers.values())
  if (distinct.size > 1) {
    throw new Error(
      `Cannot compare ${route}: headers differ: ${
        [...headers].map(([name, list]) => `${name}: ${list}`).join('; ')
      }`,
    )
  }
}

function rotate<T>(items: readonly T[], by: number): T[] {
  return items.map((_, i) => items[(i + by) % items.length])
}

/** The name of the results: only a whole run of full length takes the place of the published one. */
export function toName({ quick, groups }: Settings): 'bench' | 'part' | 'quick' {
  return quick ? 'quick' : groups.length === GROUPS.length ? 'bench' : 'part'
}

async function save(report: Report, name: string): Promise<void> {
  const folder = new URL('./results/', import.meta.url)
  await Deno.mkdir(folder, { recursive: true })
  await Deno.writeTextFile(new URL(`${name}.json`, folder), `${JSON.stringify(report, null, 2)}\n`)
  await Deno.writeTextFile(new URL(`${name}.svg`, folder), drawChart(report))
  await Deno.writeTextFile(new URL(`${name}.md`, folder), toMarkdown(report))
  console.log(`\nwritten: ${fromFileUrl(new URL(`${name}.json`, folder))}, ${name}.svg and ${name}.md`)
  if (name !== 'bench') return
  await writeReadmeTable('deno task bench', toSummary(report))
  console.log('written: the table of README.md')
}

if (import.meta.main) {
  const others = Deno.args.filter((argument) => Object.hasOwn(OTHERS, argument))
  if (others.length > 0) {
    console.log(formatMachine(describeMachine()))
    for (const other of others) await (await import(OTHERS[other])).main()
  } else if (Deno.args.includes('--packages')) {
    const { main } = await import('./packages/run.ts')
    if (!await main(Deno.args.filter((argument) => argument !== '--packages'))) Deno.exitCode = 1
  } else if (Deno.args.includes('--reach')) {
    const { main } = await import('./reach/run.ts')
    if (!await main(Deno.args)) Deno.exitCode = 1
  } else if (Deno.args.includes('--serve')) {
    const { main } = await import('./serve/run.ts')
    await main(Deno.args.filter((argument) => argument !== '--serve'))
  } else if (Deno.args.includes('--sandbox')) {
    const { main } = await import('./sandbox/run.ts')
    if (!await main(Deno.args.filter((argument) => argument !== '--sandbox'))) Deno.exitCode = 1
  } else if (Deno.args.includes('--tenants')) {
    const { main } = await import('./tenants/run.ts')
    if (!await main(Deno.args.filter((argument) => argument !== '--tenants'))) Deno.exitCode = 1
  } else if (Deno.args.includes('--isolated')) {
    const { main } = await import('./isolated/run.ts')
    await main(Deno.args.filter((argument) => argument !== '--isolated'))
  } else {
    const settings = toSettings(Deno.args)
    const report = await bench(settings)
    console.log(formatReport(report))
    await save(report, toName(settings))
  }
}
