/**
 * What it costs a program to ask the host: rounds in turn, medians. `deno task bench --reach [--rounds N]`.
 *
 * ```text
 * floor     a program that asks nothing
 * binding   one call that does nothing        parallel   ten of them together
 * kv get    a key of SQLite in memory         outside    the same in the host
 * counter   a kept program, called by the host
 * ```
 * Then requests a second over HTTP ({@link ./throughput.ts}), a thousand that wait ({@link ./waits.ts}), and events to five hundred
 * clients ({@link ./events.ts}). What is printed goes to `results/reach.md`.
 */
import { fromFileUrl } from '@std/path'
import { median } from '../statistics.ts'
import { measureEvents } from './events.ts'
import { measureThroughput } from './throughput.ts'
import { measureWaits } from './waits.ts'
import { kv, SqliteStore } from '../../src/reach/mod.ts'
import { type RunReport, type RunStats, Sandbox, type SandboxWorker } from '../../src/sandbox/mod.ts'

const PROGRAM = `
export const floor = () => 1
export async function binding() { return await this.env.nothing() }
export async function parallel() { return (await Promise.all(Array.from({ length: 10 }, () => this.env.nothing()))).length }
export async function get() { return await this.env.DB.get('key') }`
const COUNTER = 'let count = 33436183\nexport const next = () => `Hello ${++count} World!`'
/** Calls of a round. */
const CALLS = 200

/** Measures and prints; false where an answer is wrong. */
export async function main(args: readonly string[]): Promise<boolean> {
  const lines: string[] = []
  const say = (text: string) => {
    console.log(text)
    lines.push(text)
  }
  const right = await measureCalls(args, say) && await measureThroughput(say) && await measureWaits(say) &&
    await measureEvents(say)
  if (right) {
    const file = fromFileUrl(new URL('../results/reach.md', import.meta.url))
    await Deno.writeTextFile(file, `${await headOf()}\n${lines.join('\n')}\n`)
  }
  return right
}

/** What the figures were measured on. */
async function headOf(): Promise<string> {
  const commit = await new Deno.Command('git', { args: ['rev-parse', '--short', 'HEAD'] }).output()
  const [one, five] = Deno.loadavg()
  return `# What it costs a program to ask the host

Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${new Date().toISOString()}, commit ${
    new TextDecoder().decode(commit.stdout).trim()
  }. Load at the end: ${one!.toFixed(1)}, over five minutes ${
    five!.toFixed(1)
  }. Over one for each core, other work ran beside it, and only ratios within one table say something.
`
}

async function measureCalls(args: readonly string[], say: (text: string) => void): Promise<boolean> {
  const rounds = Number(args[args.indexOf('--rounds') + 1]) || 5
  using store = new SqliteStore(':memory:')
  const db = kv('bench/', { store })
  await db.set('key', 1)
  await using sandbox = await Sandbox.open({ limits: { timeoutMs: 10_000 } })
  const worker = sandbox.get('program', {
    mainModule: 'main.js',
    modules: { 'main.js': PROGRAM },
    env: { nothing: () => 1, DB: db },
  })
  const counter = sandbox.get('counter', { mainModule: 'c.js', modules: { 'c.js': COUNTER } }, {
    ephemeral: false,
  })
  await promote(sandbox, worker)
  let last = 33436183
  /** Of the last run. */
  let report: RunReport | null = null
  const limits = { onRun: (told: RunReport) => void (report = told) }
  const entry = worker.entrypoint('default', { limits })
  const kept = counter.entrypoint('default', { limits })
  const ways: Record<string, () => Promise<boolean>> = {
    floor: async () => await entry.call('floor') === 1,
    binding: async () => await entry.call('binding') === 1,
    parallel: async () => await entry.call('parallel') === 10,
    'kv get': async () => await entry.call('get') === 1,
    outside: async () => await db.get('key') === 1,
    counter: async () => await kept.call('next') === `Hello ${++last} World!`,
  }
  const taken = new Map(
    Object.keys(ways).map((name): [string, Taken] => [name, { wall: [], machine: [], run: [] }]),
  )
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(ways)) {
      const { wall, machine, run: runs } = taken.get(name)!
      const [walls, machines]: [number[], number[]] = [[], []]
      for (let call = 0; call < CALLS; call++) {
        report = null
        const begin = performance.now()
        if (!await run()) {
          console.error(`${name}: a wrong answer`)
          return false
        }
        walls.push((performance.now() - begin) * 1000)
        // It is set in the call.
        const told = report as RunReport | null
        if (told === null) continue
        machines.push(told.stats.runMicros)
        runs.push(told.stats)
      }
      wall.push(median(walls)!)
      if (machines.length > 0) machine.push(median(machines)!)
    }
  }
  const floor = median(taken.get('floor')!.machine)!
  say(
    `Load ${Deno.loadavg()[0]!.toFixed(1)}; microseconds, medians of ${rounds} rounds of ${CALLS}\n`,
  )
  say(
    `| way | in all | in the machine | floors | exits | parks |\n| --- | --: | --: | --: | --: | --: |`,
  )
  for (const [name, { wall, machine, run }] of taken) {
    const cells = machine.length === 0 ? ['', '', '', ''] : [
      median(machine)!.toFixed(0),
      (median(machine)! / floor).toFixed(1),
      median(run.map(({ exits }) => exits)),
      median(run.map(({ parks }) => parks)),
    ]
    say(`| ${[name, median(wall)!.toFixed(0), ...cells].join(' | ')} |`)
  }
  return true
}

/** Microseconds of each round, and what each run told. */
interface Taken {
  readonly wall: number[]
  readonly machine: number[]
  readonly run: RunStats[]
}

/** Calls it until it has a snapshot of its own. */
async function promote(sandbox: Sandbox, worker: SandboxWorker): Promise<void> {
  const isWarm = () => sandbox.stats().programs.every(({ warm }) => warm)
  for (let calls = 0; calls < 2000 && !isWarm(); calls++) {
    for (const name of ['floor', 'binding', 'parallel', 'get']) await worker.call(name)
    if (calls > 10) await new Promise((done) => setTimeout(done, 50))
  }
  if (!isWarm()) throw new Error('Cannot measure: the program got no snapshot, want one')
}
