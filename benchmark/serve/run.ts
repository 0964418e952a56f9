/**
 * `deno task bench --serve`: unmodified servers outside a machine and behind `mayfly serve --ephemeral`, in turn, every answer checked;
 * beside them an isolated route of the framework. Flags:
 *
 * - `--quick`: one round with runs of 2 s; no page is written
 * - `--seconds 5`: runs of so many seconds, default 8
 * - `--rounds 5`: default 3
 * - `--only native,deno`: these servers; no page is written
 */
import { ANSWERS } from '../answers.ts'
import type { LoopResult } from '../isolated/closed_loop.ts'
import type { BaselineReport } from '../isolated/results.ts'
import { describeMachine } from '../machine.ts'
import { readRunFlags, type RunFlags } from '../run_flags.ts'
import { checkAnswer, fileOf, freePort, type RunningServer, startCommand, startServer } from '../server.ts'
import { perRequest, readTotals } from './metrics.ts'
import { FRAMEWORK, type ServeReport, type ServeRun, toServeMarkdown } from './report.ts'
import { prepareServers, type ServedProgram } from './servers.ts'
import { measureStarts, type Start } from './starts.ts'

const CONNECTIONS = 50
/** Seconds before those that count. */
const WARM_UP = 2
/** Requests before the snapshot. */
const SNAPSHOT_WARM_UP = 3000
/** Starts from a snapshot on disk in each round. */
const STARTS = 10
const LENGTHS = { whole: [3, 8], quick: [1, 2] } as const
const NATIVE = fileOf('../native')
const TARGET = `${NATIVE}/target/release`

/** Measures, prints, and writes the page of a whole run. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = readRunFlags(args, 'seconds', LENGTHS)
  await build()
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-bench-' })
  try {
    const programs = (await prepareServers(folder)).filter(({ name }) => flags.only?.includes(name) ?? true)
    const runs: ServeRun[] = []
    const starts: Start[] = []
    for (let round = 0; round < flags.rounds; round++) {
      for (const program of programs) runs.push(...await measure(program, round, flags))
      if (flags.only === undefined) runs.push(await measureFramework(round, flags))
      for (const program of programs) {
        if (program.body !== undefined) {
          starts.push(...await measureStarts(`${TARGET}/mayfly-cli`, program, folder, STARTS))
        }
      }
    }
    const report: ServeReport = {
      machine: describeMachine(),
      date: new Date().toISOString(),
      command: ['deno task bench', ...Deno.args].join(' '),
      seconds: flags.length,
      rounds: flags.rounds,
      connections: CONNECTIONS,
      programs: programs.map(({ name, label }) => ({ name, label })),
      runs,
      starts,
    }
    const page = toServeMarkdown(report)
    console.log(page)
    if (!flags.whole) return
    await Deno.writeTextFile(fileOf('results/serve.json'), `${JSON.stringify(report, null, 2)}\n`)
    await Deno.writeTextFile(fileOf('results/serve.md'), page)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

async function build(): Promise<void> {
  const { success } = await new Deno.Command('cargo', {
    args: ['build', '--release', '--locked', '--package', 'mayfly-front', '--package', 'mayfly-vm'],
    cwd: NATIVE,
    stdin: 'null',
  }).spawn().status
  if (!success) throw new Error('Cannot run the benchmark: mayfly-cli does not build, see above')
}

/** One program outside, where that can be, and behind `mayfly serve`. */
async function measure(program: ServedProgram, round: number, flags: RunFlags): Promise<ServeRun[]> {
  const runs: ServeRun[] = []
  let body = program.body
  if (program.outside) {
    await using server = await start((port) => ({
      name: program.name,
      command: program.command[0],
      args: [...program.command.slice(1), String(port)],
      env: { ...program.env, DENO_DIR: '', HOME: Deno.env.get('HOME') ?? '' },
    }))
    body ??= await (await fetch(server.origin)).text()
    runs.push({ round, name: program.name, inside: false, load: await load(server.origin, body, flags) })
  }
  const admin = freePort()
  const before = await baseline()
  await using server = await start((port) => ({
    name: `mayfly serve ${program.name}`,
    command: `${TARGET}/mayfly-cli`,
    args: [
      'serve',
      '--ephemeral',
      '--quiet',
      '--threads=0',
      `--warmup=${SNAPSHOT_WARM_UP}`,
      '--max-boot-time=120',
      `--listen=127.0.0.1:${port}`,
      `--admin=127.0.0.1:${admin}`,
      ...Object.entries(program.env).map(([name, value]) => `--env=${name}=${value}`),
      ...program.options,
      'run',
      ...program.command,
      '8000',
    ],
    startMs: 150_000,
  }))
  const begin = await readTotals(`http://127.0.0.1:${admin}`)
  const result = await load(server.origin, body ?? '', flags)
  const machine = perRequest(begin, await readTotals(`http://127.0.0.1:${admin}`))
  await server.stop()
  runs.push({
    round,
    name: program.name,
    inside: true,
    load: result,
    machine,
    baselines: [before, await baseline()],
  })
  return runs
}

/** An isolated route of the framework that does what the hellos do. */
async function measureFramework(round: number, flags: RunFlags): Promise<ServeRun> {
  const route = '/test-isolated'
  const running = await startServer('mayfly-isolated')
  await using server = disposable(running)
  const fault = await checkAnswer(server, route)
  if (fault !== undefined) throw new Error(`Cannot time ${route}: ${fault}`)
  return {
    round,
    name: FRAMEWORK,
    inside: true,
    load: await load(server.origin, ANSWERS[route].body, flags, route),
  }
}

/** A server that is stopped when it is left. */
type Running = RunningServer & AsyncDisposable

function disposable(server: RunningServer): Running {
  return { ...server, [Symbol.asyncDispose]: server.stop }
}

async function start(toCommand: Parameters<typeof startCommand>[0]): Promise<Running> {
  return disposable(await startCommand(toCommand))
}

/** Loads a server from a process of its own. Throws where an answer was wrong. */
async function load(origin: string, body: string, { length }: RunFlags, path = '/'): Promise<LoopResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf('serve/load.ts'), origin, path]
      .concat([CONNECTIONS, WARM_UP, length].map(String)),
    stdin: 'piped',
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn()
  const writer = child.stdin.getWriter()
  await writer.write(new TextEncoder().encode(body))
  await writer.close()
  const { code, stdout } = await child.output()
  if (code !== 0) throw new Error(`Cannot load ${origin}: the load generator ended with code ${code}`)
  const result: LoopResult = JSON.parse(new TextDecoder().decode(stdout))
  console.error(`${origin}${path} ${Math.round(result.requestsPerSecond)} requests a second`)
  return result
}

async function baseline(): Promise<BaselineReport> {
  const { code, stdout } = await new Deno.Command(`${TARGET}/mayfly-vm`, {
    args: ['bench', '--json', '--baseline'],
    stdin: 'null',
    stderr: 'inherit',
  }).output()
  if (code !== 0) throw new Error(`Cannot measure the baseline: mayfly-vm ended with code ${code}`)
  return JSON.parse(new TextDecoder().decode(stdout))
}
