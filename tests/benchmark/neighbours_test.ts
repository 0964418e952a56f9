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

Deno.test('rows tell quantiles of all rounds together, and the p99 to that without an attacker', () => {
  const [alone, beside] = [new Tally('nobody'), new Tally('a loop')]
  for (let i = 1; i <= 1000; i++) {
    alone.durations.add(i > 980 ? 4 : 1)
    beside.durations.add(i > 980 ? 6 : i > 600 ? 2 : 1)
  }
  beside.attacks = 12
  beside.wrong = 3
  const [first, second] = toRows([alone, beside])
  assertEquals([first.attacker, first.attacks, first.count, first.most], ['nobody', 0, 1000, 4])
  assertEquals(first.toAlone, 1)
  assertEquals([second.attacks, second.wrong, second.most], [12, 3, 6])
  assertAlmostEquals(second.p50, 1, 0.05)
  assertAlmostEquals(second.p99, 6, 0.2)
  assertAlmostEquals(second.toAlone, 1.5, 0.1)
  const lines = toText([first, second]).split('\n')
  assertEquals([lines.length, lines[2].endsWith('3 WRONG'), lines[1].includes('WRONG')], [3, true, false])
})
