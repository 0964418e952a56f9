/**
 * What it costs a program to ask the host: rounds in turn, medians. `deno task bench --reach [--rounds N]`.
 *
 * ```text
 * floor     a program that asks nothing
 * binding   one call that does nothing        parallel   ten of them together
 * kv get    a key of SQLite in memory         outside    the same in the host
 * counter   a kept program, called by the host
 * ```
 */
import { kv, SqliteStore } from '../../src/reach/mod.ts'
import { Sandbox, type SandboxWorker } from '../../src/sandbox/mod.ts'

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
  const ways: Record<string, () => Promise<boolean>> = {
    floor: async () => await worker.call('floor') === 1,
    binding: async () => await worker.call('binding') === 1,
    parallel: async () => await worker.call('parallel') === 10,
    'kv get': async () => await worker.call('get') === 1,
    outside: async () => await db.get('key') === 1,
    counter: async () => await counter.call('next') === `Hello ${++last} World!`,
  }
  const taken = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(ways)) {
      const micros: number[] = []
      for (let call = 0; call < CALLS; call++) {
        const begin = performance.now()
        if (!await run()) {
          console.error(`${name}: a wrong answer`)
          return false
        }
        micros.push((performance.now() - begin) * 1000)
      }
      taken.get(name)!.push(median(micros))
    }
  }
  const floor = median(taken.get('floor')!)
  console.log(`| way | us, median of ${rounds} rounds of ${CALLS} | floors |\n| --- | --: | --: |`)
  for (const [name, medians] of taken) {
    console.log(`| ${name} | ${median(medians).toFixed(0)} | ${(median(medians) / floor).toFixed(1)} |`)
  }
  return true
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
