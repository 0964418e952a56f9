/**
 * `deno run -A benchmark/neighbours.ts [rounds] [seconds] [connections]`: how long neighbours wait while an attacker hammers one
 * machine, or with more connections all of them. Writes `results/neighbours.json`, with more connections `neighbours-N.json`.
 *
 * A neighbour asks for `/hello` a hundred times a second, whether it was answered or not (open loop: a late answer does not hide
 * the wait of the next ones), and is timed at its own end. Beside it, in a process of its own, one attacker asks for one hostile
 * thing after another (the soak's, and those of `neighbours/host_attacks.ts`; without a C compiler not those by system calls), on each connection as soon as it was answered. In each round the neighbour is alone twice and then beside each attacker for so many
 * seconds, so each p99 is compared with that of the same minute; the median of the rounds counts. Server, attacker and neighbour share
 * the cores.
 */
import { fromFileUrl, join } from '@std/path'
import { describeMachine } from './machine.ts'
import { startAttacker } from './neighbours/attacker.ts'
import {
  ATTACKING_PROGRAM,
  BY_ANSWERS,
  BY_CALLS,
  writeAttackingHandler,
  writeAttackingNative,
} from './neighbours/host_attacks.ts'
import { askEvenly, sleep } from './neighbours/open_loop.ts'
import { Tally, toRows, toText } from './neighbours/rows.ts'
import { HOSTILE } from './soak/kinds.ts'
import { ask, SOAK_ROUTES, startSoakServer } from './soak/server.ts'

/** What an attacker asks for. */
interface Attacker {
  readonly name: string
  readonly path: string
}

/** An attacker's share of the machine is that of any busy client: this one does no harm. */
const BUSY: Attacker = { name: 'a busy neighbour', path: '/count?id=1' }
/** The first attacks of a kind may hold every machine once: the scheduler has not seen them yet. */
const LEAD_MS = 500

async function main(rounds: number, seconds: number, connections: number): Promise<void> {
  const routes = await Deno.makeTempDir({ prefix: 'mayfly-neighbours-' })
  try {
    const attackers = [BUSY, ...HOSTILE, ...await writeRoutes(routes)]
    await using server = await startSoakServer(routes)
    const [alone, ...beside] = [new Tally('nobody'), ...attackers.map(({ name }) => new Tally(name))]
    const hello = (id: number) => askHello(server.origin, id)
    await askEvenly(hello, new Tally('warm-up'), 0, 2)
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 2; i++) await askEvenly(hello, alone, round, seconds)
      for (const [i, { path }] of attackers.entries()) {
        await using attacker = await startAttacker({ origin: server.origin, path }, connections)
        await sleep(LEAD_MS)
        await askEvenly(hello, beside[i], round, seconds)
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
    await Deno.remove(routes, { recursive: true })
  }
}

/** Writes the soak's routes into a folder, and those of the attacks on the host, which it gives. */
async function writeRoutes(folder: string): Promise<Attacker[]> {
  for await (const { name } of Deno.readDir(SOAK_ROUTES)) {
    await Deno.copyFile(join(SOAK_ROUTES, name), join(folder, name))
  }
  await writeAttackingHandler(folder)
  const attackers = BY_ANSWERS.map((name) => ({ name: `answer: ${name}`, path: `/handler?what=${name}` }))
  const args = ['-O1', '-w', '-static', '-o', join(folder, '_attacks'), ATTACKING_PROGRAM]
  const compiled = await new Deno.Command('cc', { args }).output().catch(() => undefined)
  if (compiled?.success !== true) {
    console.log(
      'SKIPPED: attacks by system calls: no C compiler that links static programs: install gcc and libc6-dev',
    )
    return attackers
  }
  await writeAttackingNative(folder)
  return [...attackers, ...BY_CALLS.map((name) => ({ name: `calls: ${name}`, path: `/native/${name}` }))]
}

/** Whether a hello was answered as it should be. */
async function askHello(origin: string, id: number): Promise<boolean> {
  const { status, text } = await ask(`${origin}/hello?id=${id}`)
  return status === 200 && text === JSON.stringify({ id: String(id), calls: 1 })
}

if (import.meta.main) {
  const [rounds = 5, seconds = 2, connections = 1] = Deno.args.map(Number)
  await main(rounds, seconds, connections)
}
