/**
 * `deno run -A benchmark/neighbours.ts [seconds]`: how long neighbours wait while an attacker hammers a machine. A neighbour asks
 * `/hello` a hundred times a second, whether it was answered or not (open loop: a late answer does not hide the wait of the next
 * ones); each attacker asks for one hostile thing after another on four connections. Writes `results/neighbours.json`.
 */
import { fromFileUrl } from '@std/path'
import { describeMachine } from './machine.ts'
import { Durations } from './soak/durations.ts'
import { HOSTILE, type Kind } from './soak/kinds.ts'
import { ask, type SoakServer, startSoakServer } from './soak/server.ts'

/** The neighbour's milliseconds beside one attacker; `null` is nobody, or one who asks for what is harmless. */
interface Row {
  readonly attacker: string
  readonly attacks: number
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
  readonly wrong: number
}

const ALONE = 'nobody'
/** An attacker's share of the machine is that of any busy client: this one does no harm. */
const BUSY: Kind = { name: 'a busy neighbour', path: '/count?id=1', status: 200 }
const PERIOD_MS = 10
const ATTACKING_CONNECTIONS = 4
/** The first attacks of a kind may hold every machine once: nobody knows them yet. */
const LEAD_MS = 2000

async function main(seconds: number): Promise<void> {
  const server = await startSoakServer()
  try {
    await watch(server, null, 2)
    const rows = [await watch(server, null, seconds)]
    for (const attacker of [BUSY, ...HOSTILE]) rows.push(await watch(server, attacker, seconds))
    rows.push(await watch(server, null, seconds))
    print(rows)
    const results = fromFileUrl(new URL('./results/neighbours.json', import.meta.url))
    const report = { date: new Date().toISOString(), machine: describeMachine(), seconds, rows }
    await Deno.writeTextFile(results, `${JSON.stringify(report, null, 2)}\n`)
  } finally {
    await server.stop()
  }
}

/** Asks as a neighbour for so many seconds beside an attacker. */
async function watch({ origin }: SoakServer, attacker: Kind | null, seconds: number): Promise<Row> {
  let over = false
  let attacks = 0
  const attack = async () => {
    while (!over && attacker !== null) {
      await ask(origin + attacker.path)
      attacks++
    }
  }
  const attacking = Array.from({ length: ATTACKING_CONNECTIONS }, attack)
  if (attacker !== null) await sleep(LEAD_MS)
  const durations = new Durations()
  let wrong = 0
  const one = async (id: number) => {
    const start = performance.now()
    const { status, text } = await ask(`${origin}/hello?id=${id}`)
    durations.add(performance.now() - start)
    if (status !== 200 || text !== JSON.stringify({ id: String(id), calls: 1 })) wrong++
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
  over = true
  await Promise.all(attacking)
  return {
    attacker: attacker?.name ?? ALONE,
    attacks,
    count: durations.count,
    p50: durations.quantile(0.5),
    p99: durations.quantile(0.99),
    most: durations.most,
    wrong,
  }
}

function print(rows: readonly Row[]): void {
  const alone = rows.filter(({ attacker }) => attacker === ALONE)
  const base = Math.max(...alone.map(({ p99 }) => p99))
  console.log('neighbour beside           attacks    p50 ms    p99 ms   most ms   p99 to alone')
  for (const { attacker, attacks, p50, p99, most, wrong } of rows) {
    const numbers = [p50, p99, most].map((ms) => ms.toFixed(2).padStart(10)).join('')
    const words = wrong === 0 ? '' : `  ${wrong} WRONG`
    const ratio = (p99 / base).toFixed(2).padStart(15)
    console.log(`${attacker.padEnd(24)}${String(attacks).padStart(10)}${numbers}${ratio}${words}`)
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (import.meta.main) await main(Number(Deno.args[0] ?? 10))
