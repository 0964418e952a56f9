/**
 * `deno run -A benchmark/neighbours.ts [rounds] [seconds] [connections]`: how long neighbours wait while an attacker hammers one
 * machine, or with more connections all of them. Writes `results/neighbours.json`, with more connections `neighbours-N.json`.
 *
 * A neighbour asks for `/hello` a hundred times a second, whether it was answered or not (open loop: a late answer does not hide
 * the wait of the next ones), and is timed at its own end. Beside it, in a process of its own, one attacker asks for one hostile
 * thing after another, on each connection as soon as it was answered. In each round the neighbour is alone twice and then beside each attacker for so many
 * seconds, so each p99 is compared with that of the same minute; the median of the rounds counts. Server, attacker and neighbour share
 * the cores.
 */
import { fromFileUrl } from '@std/path'
import { describeMachine } from './machine.ts'
import { Tally, toRows, toText } from './neighbours/rows.ts'
import { HOSTILE, type Kind } from './soak/kinds.ts'
import { ask, startSoakServer } from './soak/server.ts'

/** An attacker's share of the machine is that of any busy client: this one does no harm. */
const BUSY: Kind = { name: 'a busy neighbour', path: '/count?id=1', status: 200 }
const PERIOD_MS = 10
/** The first attacks of a kind may hold every machine once: the scheduler has not seen them yet. */
const LEAD_MS = 500
/** Rest between attackers, for what the one before left to be done. */
const REST_MS = 100

async function main(rounds: number, seconds: number, connections: number): Promise<void> {
  const server = await startSoakServer()
  try {
    const [alone, ...beside] = [new Tally('nobody'), ...[BUSY, ...HOSTILE].map(({ name }) => new Tally(name))]
    await watch(server.origin, new Tally('warm-up'), 0, 2)
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 2; i++) await watch(server.origin, alone, round, seconds)
      for (const [i, { path }] of [BUSY, ...HOSTILE].entries()) {
        await using attacker = await startAttacker(server.origin, path, connections)
        await sleep(LEAD_MS)
        await watch(server.origin, beside[i], round, seconds)
        beside[i].attacks += await attacker.stop()
      }
    }
    const rows = toRows([alone, ...beside])
    console.log(toText(rows))
    const name = connections === 1 ? 'neighbours' : `neighbours-${connections}`
    const results = fromFileUrl(new URL(`./results/${name}.json`, import.meta.url))
    const date = new Date().toISOString()
    const report = { date, machine: describeMachine(), rounds, seconds, connections, rows }
    await Deno.writeTextFile(results, `${JSON.stringify(report, null, 2)}\n`)
  } finally {
    await server.stop()
  }
}

/** Asks as a neighbour for so many seconds of a round. */
async function watch(origin: string, tally: Tally, round: number, seconds: number): Promise<void> {
  await sleep(REST_MS)
  const one = async (id: number) => {
    const start = performance.now()
    const { status, text } = await ask(`${origin}/hello?id=${id}`)
    tally.add(round, performance.now() - start)
    if (status !== 200 || text !== JSON.stringify({ id: String(id), calls: 1 })) tally.wrong++
  }
  const asked: Promise<void>[] = []
  const begin = performance.now()
  const total = Math.round(seconds * 1000 / PERIOD_MS)
  while (asked.length < total) {
    const due = begin + asked.length * PERIOD_MS
    if (performance.now() < due) await sleep(due - performance.now())
    asked.push(one(asked.length))
  }
  await Promise.all(asked)
}

/** An attacker that has had its first answers. `stop` gives how many it had. */
interface Attacker extends AsyncDisposable {
  stop(): Promise<number>
}

async function startAttacker(origin: string, path: string, connections: number): Promise<Attacker> {
  const program = fromFileUrl(new URL('./neighbours/attack.ts', import.meta.url))
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '--allow-net', '--no-check', program, origin, path, String(connections)],
    stdin: 'piped',
    stdout: 'piped',
  }).spawn()
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await output.read()
  if (value !== 'ready\n') throw new Error(`Cannot attack ${path}: the attacker says ${value}, want ready`)
  let isOver = false
  const end = async () => {
    if (isOver) return
    isOver = true
    await child.stdin.close()
    await child.status
  }
  return {
    async stop() {
      const count = output.read()
      await end()
      return Number((await count).value)
    },
    [Symbol.asyncDispose]: end,
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (import.meta.main) {
  const [rounds = 5, seconds = 2, connections = 1] = Deno.args.map(Number)
  await main(rounds, seconds, connections)
}
