/**
 * `deno task bench --isolated`: isolated handlers beside the other ways to run code apart, the baseline of this machine, and what
 * must hold. Flags:
 *
 * - `--quick`: one round with runs of 1 s; no page is written
 * - `--seconds 5`: runs of so many seconds, default 4
 * - `--rounds 5`: default 3
 * - `--only /test,/test-isolated`: these routes, and no other measurement
 */
import { fromFileUrl } from '@std/path'
import { checkAnswer, fileOf, freePort, type RunningServer, startServer } from '../server.ts'
import { describeMachine } from '../machine.ts'
import { writeReadmeTable } from '../markdown.ts'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { buildCoreGuest } from '../../src/isolate/ffi/build/core_build.ts'
import type { LoopResult } from './closed_loop.ts'
import { type Way, WAYS } from './plan.ts'
import type { BootResult, HogResult, MemoryResult, ProbeName, ReloadResult } from './probe.ts'
import { formatIsolated, toMarkdown, toSummary } from './report.ts'
import {
  type BaselineReport,
  type IsolatedReport,
  type Results,
  type SoakResult,
  toBaselineParts,
  toWayResults,
  type VmReport,
  type WayRun,
} from './results.ts'
import type { VmSamples } from './samples.ts'
import type { StartsResult } from './starts.ts'

interface Settings {
  readonly quick: boolean
  readonly rounds: number
  readonly seconds: number
  readonly ways: readonly Way[]
}

/** Longest run of anything that this starts, for a machine that hangs. */
const CHILD_MS = 300_000
const NATIVE = fileOf('../native')

/** Reads the flags. Throws `TypeError` for one that is unknown. */
export function toIsolatedSettings(args: readonly string[]): Settings {
  let quick = false
  let rounds: number | undefined
  let seconds: number | undefined
  let ways = WAYS
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--quick') quick = true
    else if (args[i] === '--rounds') rounds = toCount('--rounds', args[++i])
    else if (args[i] === '--seconds') seconds = toCount('--seconds', args[++i])
    else if (args[i] === '--only') ways = selectWays(args[++i] ?? '')
    else {
      throw new TypeError(
        `Cannot run the benchmark: unknown argument ${
          args[i]
        }, want --quick, --rounds n, --seconds n, --only routes`,
      )
    }
  }
  return { quick, rounds: rounds ?? (quick ? 1 : 3), seconds: seconds ?? (quick ? 1 : 4), ways }
}

function toCount(flag: string, text: string | undefined): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new TypeError(`Cannot run the benchmark: ${flag} is ${text}, want a number from 1`)
}

function selectWays(list: string): readonly Way[] {
  const wanted = list.split(',').map((route) => route.startsWith('/') ? route : `/${route}`)
  for (const route of wanted) {
    if (WAYS.some((way) => way.route === route)) continue
    throw new TypeError(
      `Cannot run the benchmark: no route ${route}, want some of ${WAYS.map(({ route }) => route).join(' ')}`,
    )
  }
  return WAYS.filter(({ route }) => wanted.includes(route))
}

/** Runs it all, prints it, and writes results/isolated.json, results/isolated.md and the short table of the README. */
export async function main(args: readonly string[]): Promise<void> {
  const { quick, rounds, seconds, ways } = toIsolatedSettings(args)
  const all = ways.length === WAYS.length
  const failures: string[] = []
  await build(failures)
  const alone = all ? await measureAlone(quick, failures) : NOTHING
  const runs: WayRun[] = []
  for (let round = 0; round < rounds; round++) {
    const found = await attempt(
      `round ${round + 1} of ${rounds}`,
      () => measureRound(round, ways, seconds, failures),
      failures,
    )
    runs.push(...found ?? [])
  }
  const report: IsolatedReport = {
    machine: describeMachine(),
    date: new Date().toISOString(),
    command: ['deno task bench --isolated', ...args].join(' '),
    seconds,
    rounds,
    ways: toWayResults(ways, runs),
    ...alone,
    runs,
    failures,
  }
  console.log(`\n${formatIsolated(report)}`)
  if (all) await save(report, quick)
  if (failures.length > 0) Deno.exitCode = 1
}

type Alone = Omit<Results, 'ways' | 'runs'>
const NOTHING: Alone = {
  vm: undefined,
  boot: undefined,
  memory: undefined,
  coreMemory: undefined,
  starts: undefined,
  reload: undefined,
  hog: undefined,
  soak: undefined,
}

/** All that is native, so that nothing that is timed waits for a compiler. Without the small guest the rest is still measured. */
async function build(failures: string[]): Promise<void> {
  await buildLibrary()
  await attempt('build of the small guest', buildCoreGuest, failures)
  const { success } = await new Deno.Command('cargo', {
    args: ['build', '--release', '--locked', '--package', 'mayfly-vm'],
    cwd: NATIVE,
    stdin: 'null',
  }).spawn().status
  if (!success) throw new Error('Cannot run the benchmark: mayfly-vm does not build, see above')
}

/** What is measured without load. A part that fails is reported and left out. */
async function measureAlone(quick: boolean, failures: string[]): Promise<Alone> {
  const part = <T>(name: string, measure: () => Promise<T>) => attempt(name, measure, failures)
  const probe = <T>(name: ProbeName) =>
    part<T>(`probe ${name}`, () => runDeno(['--v8-flags=--expose-gc'], 'isolated/probe.ts', [name]))
  return {
    vm: await part('mayfly-vm bench', () => runVmBench<VmReport>('--deno', Deno.execPath())),
    boot: await probe<BootResult>('boot'),
    memory: await probe<MemoryResult>('memory'),
    coreMemory: await probe<MemoryResult>('memory-core'),
    starts: await part<StartsResult>('starts of programs', () => runDeno([], 'isolated/starts.ts', [])),
    reload: await probe<ReloadResult>('reload'),
    hog: await probe<HogResult>('hog'),
    soak: quick ? undefined : await part('soak of 100 000', measureSoak),
  }
}

/** What `mayfly-vm bench` says. */
async function runVmBench<T>(...args: readonly string[]): Promise<T> {
  const tool = ['run', '--quiet', '--release', '--locked', '--package', 'mayfly-vm', '--', 'bench', '--json']
  return await runJson('cargo', [...tool, ...args], NATIVE)
}

/** Runs the soak tool; its report says more than its exit code. */
async function measureSoak(): Promise<SoakResult> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf('soak.ts'), '--only-clean', '100000'],
    stdin: 'null',
    stderr: 'inherit',
    signal: AbortSignal.timeout(CHILD_MS),
  }).output()
  if (stdout.length === 0) throw new Error('the soak gave no report')
  return JSON.parse(await Deno.readTextFile(fileOf('results/soak-clean.json')))
}

/** The result, or undefined with a line in `failures`. */
async function attempt<T>(
  name: string,
  measure: () => Promise<T>,
  failures: string[],
): Promise<T | undefined> {
  console.error(name)
  try {
    return await measure()
  } catch (error) {
    failures.push(`${name}: ${(error as Error).message}`)
    console.error(`${name}:`, error)
    return undefined
  }
}

/** Every way once, on servers that are started for the round, with a look at the baseline between any two runs. */
async function measureRound(
  round: number,
  ways: readonly Way[],
  seconds: number,
  failures: string[],
): Promise<WayRun[]> {
  const samplesPort = freePort()
  const plain = await startServer('mayfly')
  const servers: RunningServer[] = [plain]
  try {
    const sampled = await startServer('mayfly-sampled', { SAMPLES_PORT: String(samplesPort) })
    servers.push(sampled)
    const runs: WayRun[] = []
    const lookAtBaseline = () => attempt('baseline', () => runVmBench<BaselineReport>('--baseline'), failures)
    let before = await lookAtBaseline()
    for (const way of ways) {
      const isSampled = way.server === 'mayfly-sampled'
      const server = isSampled ? sampled : plain
      for (const connections of way.connections) {
        const name = `${way.name}, ${connections} connection${connections === 1 ? '' : 's'}`
        const found = await attempt(
          name,
          () => measureWay(server, way.route, connections, seconds, isSampled ? samplesPort : undefined),
          failures,
        )
        const after = await lookAtBaseline()
        const baseline = toBaselineParts([before, after].flatMap((look) => look ?? []))
        before = after
        if (found === undefined) continue
        runs.push({ round, route: way.route, connections, baseline, ...found })
        const { requestsPerSecond, p50, samples } = found
        const vm = samples === undefined ? '' : `, VM ${samples.vm.p50.toFixed(1)} µs`
        const trip = baseline === undefined ? '' : `, empty round trip ${baseline.roundTripUs.toFixed(1)} µs`
        console.error(`  ${requestsPerSecond.toFixed(0)} req/s, p50 ${p50.toFixed(1)} µs${vm}${trip}`)
      }
    }
    return runs
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

async function measureWay(
  server: RunningServer,
  route: string,
  connections: number,
  seconds: number,
  samplesPort: number | undefined,
): Promise<Omit<WayRun, 'round' | 'route' | 'connections' | 'baseline'>> {
  const fault = await checkAnswer(server, route)
  if (fault !== undefined) throw new Error(fault)
  await load(server, route, connections, 1)
  if (samplesPort !== undefined) await takeSamples(samplesPort)
  const result = await load(server, route, connections, seconds)
  const samples = samplesPort === undefined ? undefined : await takeSamples(samplesPort)
  return { ...result, samples }
}

async function load(
  { origin }: RunningServer,
  route: string,
  connections: number,
  seconds: number,
): Promise<LoopResult> {
  return await runDeno([], 'isolated/closed_loop.ts', [origin, route, String(connections), String(seconds)])
}

async function takeSamples(port: number): Promise<VmSamples> {
  return await (await fetch(`http://127.0.0.1:${port}/`)).json()
}

/** The JSON that a module of the benchmark prints. */
async function runDeno<T>(flags: readonly string[], file: string, args: readonly string[]): Promise<T> {
  return await runJson(Deno.execPath(), [
    ...['run', '-A', '--no-prompt', '--no-check', ...flags],
    ...[fileOf(file), ...args],
  ])
}

/** The JSON that a program prints. */
async function runJson<T>(program: string, args: readonly string[], cwd?: string): Promise<T> {
  const { success, code, signal, stdout } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    stdin: 'null',
    stderr: 'inherit',
    signal: AbortSignal.timeout(CHILD_MS),
  }).output()
  if (success) return JSON.parse(new TextDecoder().decode(stdout))
  throw new Error(`Cannot measure: ${program} ${args.join(' ')} ended with ${signal ?? code}`)
}

async function save(report: IsolatedReport, quick: boolean): Promise<void> {
  const folder = new URL('../results/', import.meta.url)
  await Deno.mkdir(folder, { recursive: true })
  const json = new URL(quick ? 'quick.isolated.json' : 'isolated.json', folder)
  await Deno.writeTextFile(json, `${JSON.stringify(report, null, 2)}\n`)
  console.log(`\nwritten: ${fromFileUrl(json)}`)
  if (quick) return
  const page = new URL('isolated.md', folder)
  await Deno.writeTextFile(page, toMarkdown(report))
  await writeReadmeTable('deno task bench --isolated', toSummary(report))
  console.log(`written: ${fromFileUrl(page)} and the table of README.md`)
}
