import { assert, assertAlmostEquals, assertEquals } from '@std/assert'
import { attack } from '../../benchmark/neighbours/attack.ts'
import { Tally, toRows, toText } from '../../benchmark/neighbours/rows.ts'

Deno.test('an attacker asks on, on each of its connections, until it is stopped', async () => {
  let asked = 0
  const clients = new Set<number>()
  await using server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen() {} }, (request, info) => {
    asked++
    clients.add((info.remoteAddr as Deno.NetAddr).port)
    assertEquals(new URL(request.url).search, '?what=spin')
    // Statuses do not matter, nor does a connection that ends.
    const headers = asked % 7 === 0 ? { connection: 'close' } : undefined
    return new Response('x'.repeat(asked), { status: asked % 2 === 0 ? 504 : 200, headers })
  })
  const over = new AbortController()
  const origin = new URL(`http://127.0.0.1:${server.addr.port}`)
  const ready = Promise.withResolvers<void>()
  const attacking = attack(origin, '/loop?what=spin', 3, over.signal, ready.resolve)
  await ready.promise
  while (asked < 50) await new Promise((resolve) => setTimeout(resolve, 1))
  over.abort()
  assertEquals(await attacking, asked)
  assert(clients.size >= 3)
})

/** Tallies of a machine that is slower each round, and that stands still for a moment in the third. */
function tallyRounds(rounds: number): [alone: Tally, beside: Tally] {
  const [alone, beside] = [new Tally('nobody'), new Tally('a loop')]
  for (let round = 0; round < rounds; round++) {
    for (let i = 1; i <= 1000; i++) {
      alone.add(round, 2 ** round * (i > 980 ? 4 : 1))
      beside.add(round, 2 ** round * (i > 980 ? (round === 2 ? 100 : 6) : i > 600 ? 2 : 1))
    }
  }
  beside.attacks = 12
  beside.wrong = 3
  return [alone, beside]
}

Deno.test('rows tell quantiles of all rounds together, and the median of each round to itself alone', () => {
  const [first, second] = toRows(tallyRounds(3))
  assertEquals([first.attacker, first.attacks, first.count, first.most], ['nobody', 0, 3000, 16])
  assertEquals(first.toAlone, 1)
  assertEquals([second.attacks, second.wrong, second.count, second.most], [12, 3, 3000, 400])
  assertAlmostEquals(second.p50, 2, 0.1)
  assertAlmostEquals(second.p99, 12, 0.4)
  for (const [round, p99] of [6, 12, 400].entries()) {
    assertAlmostEquals(second.rounds[round], p99, p99 / 30)
  }
  assertAlmostEquals(second.toAlone, 1.5, 0.1)
  // Of an even number both in the middle count.
  assertAlmostEquals(toRows(tallyRounds(4))[1].toAlone, 1.5, 0.1)
  assertAlmostEquals(toRows(tallyRounds(2))[1].toAlone, 1.5, 0.1)
  const lines = toText([first, second]).split('\n')
  assertEquals([lines.length, lines[2].endsWith('3 WRONG'), lines[1].includes('WRONG')], [3, true, false])
})
