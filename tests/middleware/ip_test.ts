import { ip } from '@mayfly/mayfly'
import { assertEquals } from '@std/assert'
import { toMatcher } from '../../src/middleware/ip.ts'
import { assertRefused, makeSite, statusOf } from './site.ts'

for (
  const [entries, address, expected] of [
    [['10.0.0.0/8'], '10.255.0.1', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['10.1.2.3/8'], '10.9.9.9', true],
    [['192.168.1.5'], '192.168.1.5', true],
    [['192.168.1.5'], '192.168.1.50', false],
    [['0.0.0.0/0'], '8.8.8.8', true],
    [['0.0.0.0/0'], '::1', false],
    [['fc00::/7'], 'fd12::1', true],
    [['fc00::/7'], 'fe80::1', false],
    [['::1'], '0:0:0:0:0:0:0:1', true],
    [['10.0.0.0/8'], '::ffff:10.1.1.1', true],
    [['::ffff:10.0.0.0/104'], '10.1.1.1', true],
    [['::ffff:10.0.0.0/104'], '11.1.1.1', false],
    [['10.0.0.0/31'], '10.0.0.2', false],
    [['*'], '2001:db8::1', true],
    [['10.0.0.1', '2001:db8::/32'], '2001:db8:1::1', true],
    [['10.0.0.0/8'], 'no address', false],
  ] as const
) {
  Deno.test(`toMatcher: ${entries.join(' ')} ${expected ? 'holds' : 'does not hold'} ${address}`, () => {
    assertEquals(toMatcher(entries)(address), expected)
  })
}

Deno.test('ip passes what whitelist holds and no other', async () => {
  const { ask, only } = makeSite([ip({ whitelist: ['203.0.113.0/24'] })])
  assertEquals(await statusOf(ask('/')), 200)
  assertEquals(await statusOf(ask('/', { ip: '198.51.100.1' })), 403)
  assertEquals({ ...only('ip:denied') }, { reason: 'whitelist', ip: '198.51.100.1' })
})

Deno.test('ip refuses what blacklist holds, even when whitelist holds it', async () => {
  const { ask, only } = makeSite([ip({ whitelist: ['*'], blacklist: ['203.0.113.7'] })])
  assertEquals(await statusOf(ask('/')), 403)
  assertEquals(await statusOf(ask('/', { ip: '203.0.113.8' })), 200)
  assertEquals(only('ip:denied').reason, 'blacklist')
})

Deno.test('ip refuses a request without an address', async () => {
  const { ask, only } = makeSite([ip({ blacklist: ['10.0.0.0/8'] })])
  assertEquals(await statusOf(ask('/', { ip: null })), 403)
  assertEquals(only('ip:denied').reason, 'unknown')
})

Deno.test('ip does not believe X-Forwarded-For of a stranger', async () => {
  const { ask } = makeSite([ip({ whitelist: ['10.0.0.1'] })])
  assertEquals(await statusOf(ask('/', { headers: { 'x-forwarded-for': '10.0.0.1' } })), 403)
})

Deno.test('ip takes the client that a trusted proxy names', async () => {
  const { ask } = makeSite([ip({ whitelist: ['10.0.0.1'] })], { trustProxy: ['203.0.113.7'] })
  assertEquals(await statusOf(ask('/', { headers: { 'x-forwarded-for': '10.0.0.1' } })), 200)
  assertEquals(await statusOf(ask('/', { headers: { 'x-forwarded-for': '10.0.0.1, 9.9.9.9' } })), 403)
})

Deno.test('ip gives no reason to the client', async () => {
  const text = await (await makeSite([ip({ blacklist: ['*'] })]).ask('/')).text()
  assertEquals(/blacklist|203\.0/.test(text), false)
})

for (
  const entry of [
    '10.0.0',
    '010.0.0.1',
    '0x7f.1',
    '10.0.0.0/33',
    '10.0.0.0/',
    '::1/129',
    'a',
    '1.2.3.4/8/8',
    '',
  ]
) {
  Deno.test(`ip refuses the entry "${entry}" when it is made`, () => {
    assertRefused(() => ip({ whitelist: [entry] }), TypeError, 'Cannot make ip: whitelist is', 'CIDR')
  })
}

Deno.test('ip checks its options', () => {
  assertRefused(() => ip({}), TypeError, 'whitelist is undefined')
  assertRefused(() => ip({ blacklist: [] }), TypeError, 'blacklist is []')
})
