/**
 * `deno task bench --isolated`: isolated handlers beside the other ways to run code apart, the floor of this machine, and what
 * must hold. Flags:
 *
 * - `--quick`: one round with runs of 1 s; the README stays as it is
 * - `--seconds 5`: runs of so many seconds, default 4
 * - `--rounds 5`: default 3
 * - `--only /test,/test-isolated`: these routes, and no other measurement
 */
import { fromFileUrl } from '@std/path'
import { checkAnswer, fileOf, freePort, type RunningServer, startServer } from '../server.ts'
import { describeMachine } from '../machine.ts'
import type { LoopResult } from './closed_loop.ts'
import { type Way, WAYS } from './plan.ts'
import type { BootResult, HogResult, MemoryResult, ProbeName, ReloadResult } from './probe.ts'
import { formatIsolated, replaceMarked, toMarkdown } from './report.ts'
import { type IsolatedReport, type Results, toWayResults, type VmReport, type WayRun } from './results.ts'
import type { VmSamples } from './samples.ts'

interface Settings {
  readonly quick: boolean
  readonly rounds: number
  readonly seconds: number
  readonly ways: readonly Way[]
}

/** Longest run of anything that this starts, for a machine that hangs. */
const CHILD_MS = 300_000
const READY_MS = 60_000

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

/** Runs it all, prints it, and writes results/isolated.json and the table of the README. */
export async function main(args: readonly string[]): Promise<void> {
  const settings = toIsolatedSettings(args)
  const { quick, rounds, seconds, ways } = settings
  const all = ways.length === WAYS.length
  const { vm, ...probes } = all ? await measureAlone() : NOTHING
  const runs: WayRun[] = []
  for (let round = 0; round < rounds; round++) runs.push(...await measureRound(round, settings))
  const report: IsolatedReport = {
    machine: describeMachine(),
    date: new Date().toISOString(),
    command: ['deno task bench --isolated', ...args].join(' '),
    seconds,
    rounds,
    ways: toWayResults(ways, runs),
    vm,
    ...probes,
    runs,
  }
  console.log(`\n${formatIsolated(report)}`)
  if (all) await save(report, quick)
}

type Alone = Omit<Results, 'ways'>
const NOTHING: Alone = {
  vm: undefined,
  boot: undefined,
  memory: undefined,
  reload: undefined,
  hog: undefined,
}

/** What is measured without load. */
async function measureAlone(): Promise<Alone> {
  const probe = async <T>(name: ProbeName): Promise<T> => {
    console.error(`probe ${name}`)
    return await runJson(Deno.execPath(), [
      ...['run', '-A', '--no-prompt', '--no-check', '--v8-flags=--expose-gc'],
      ...[fileOf('isolated/probe.ts'), name],
    ])
  }
  console.error('mayfly-vm bench')
  const vm = await runJson<VmReport>(
    'cargo',
    [
      ...['run', '--quiet', '--release', '--locked', '--package', 'mayfly-vm', '--'],
      ...['bench', '--json', '--deno', Deno.execPath()],
    ],
    fileOf('../native'),
  )
  return {
    vm,
    boot: await probe<BootResult>('boot'),
    memory: await probe<MemoryResult>('memory'),
    reload: await probe<ReloadResult>('reload'),
    hog: await probe<HogResult>('hog'),
  }
}

/** Every way once, on servers that are started for the round. */
async function measureRound(round: number, { ways, seconds }: Settings): Promise<WayRun[]> {
  const samplesPort = freePort()
  const plain = await startServer('mayfly')
  const servers: RunningServer[] = [plain]
  try {
    const sampled = await startServer('mayfly-sampled', { SAMPLES_PORT: String(samplesPort) })
    servers.push(sampled)
    const runs: WayRun[] = []
    for (const way of ways) {
      const isSampled = way.server === 'mayfly-sampled'
      const server = isSampled ? sampled : plain
      await waitForAnswer(server, way.route)
      for (const connections of way.connections) {
        await load(server, way.route, connections, 1)
        if (isSampled) await takeSamples(samplesPort)
        const result = await load(server, way.route, connections, seconds)
        const samples = isSampled ? await takeSamples(samplesPort) : undefined
        runs.push({ round, route: way.route, connections, ...result, samples })
        console.error(
          `${way.name.padEnd(24)} ${String(connections).padStart(3)} connections  ${
            result.requestsPerSecond.toFixed(0).padStart(7)
          } req/s  p50 ${result.p50.toFixed(1)} us${
            samples === undefined ? '' : `  VM ${samples.vm.p50.toFixed(1)} us`
          }`,
        )
      }
    }
    return runs
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** Machines boot after the server listens; meanwhile it may answer 503. */
async function waitForAnswer(server: RunningServer, route: string): Promise<void> {
  const end = performance.now() + READY_MS
  for (;;) {
    const fault = await checkAnswer(server, route)
    if (fault === undefined) return
    if (!fault.startsWith('status 503') || performance.now() > end) {
      throw new Error(`Cannot time ${route}: ${fault}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

async function load(
  { origin }: RunningServer,
  route: string,
  connections: number,
  seconds: number,
): Promise<LoopResult> {
  return await runJson(Deno.execPath(), [
    ...['run', '-A', '--no-prompt', '--no-check', fileOf('isolated/closed_loop.ts')],
    ...[origin, route, String(connections), String(seconds)],
  ])
}

async function takeSamples(port: number): Promise<VmSamples> {
  return await (await fetch(`http://127.0.0.1:${port}/`)).json()
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
  for (
    const readme of [new URL('../README.md', import.meta.url), new URL('../../README.md', import.meta.url)]
  ) {
    const text = await Deno.readTextFile(readme)
    const changed = replaceMarked(text, toMarkdown(report))
    if (changed === undefined) continue
    await Deno.writeTextFile(readme, changed)
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ['fmt', '--quiet', fromFileUrl(readme)],
    }).output()
    if (!success) throw new Error(`Cannot format ${fromFileUrl(readme)}: see deno fmt`)
    console.log(`written: ${fromFileUrl(readme)}`)
  }
}
