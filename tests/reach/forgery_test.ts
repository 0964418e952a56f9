/** Server-side request forgery: what a program writes to make the host ask its own network. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { isReachable, loadAddressKinds, toRange } from '../../src/reach/outbound/addresses.ts'
import { Outbound, OutboundError, type OutboundRequest } from '../../src/reach/outbound/fetch.ts'
import { type OutboundList, toPolicy } from '../../src/reach/outbound/policy.ts'

/** What names lead to here; all else is not known. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'private.test': ['10.0.0.1'],
  'private-b.test': ['172.16.3.4'],
  'private-c.test': ['192.168.1.1'],
  'loop.test': ['127.0.0.1'],
  'loop6.test': ['::1'],
  'zero.test': ['0.0.0.0'],
  'zero6.test': ['::'],
  'link.test': ['169.254.169.254'],
  'metadata.google.internal': ['169.254.169.254'],
  'metadata': ['169.254.169.254'],
  'instance-data': ['169.254.169.254'],
  'aws6.test': ['fd00:ec2::254'],
  'alibaba.test': ['100.100.100.200'],
  'oracle.test': ['192.0.0.192'],
  'azure.test': ['168.63.129.16'],
  'cgnat.test': ['100.64.0.1'],
  'link6.test': ['fe80::1'],
  'unique.test': ['fc00::1'],
  'site.test': ['fec0::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'mapped-hex.test': ['::ffff:7f00:1'],
  'compatible.test': ['::7f00:1'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'nat64-local.test': ['64:ff9b:1::7f00:1'],
  'sixtofour.test': ['2002:7f00:1::'],
  'teredo.test': ['2001:0:7f00:1::'],
  'multicast.test': ['224.0.0.1'],
  'multicast6.test': ['ff02::1'],
  'broadcast.test': ['255.255.255.255'],
  'reserved.test': ['240.0.0.1'],
  'docs.test': ['192.0.2.1'],
  'docs6.test': ['2001:db8::1'],
  'benchmark.test': ['198.18.0.1'],
  'scoped.test': ['fe80::1%eth0'],
  'odd.test': ['0177.0.0.1'],
  'mixed.test': ['203.0.114.1', '127.0.0.1'],
  'none.test': [],
  'localhost': ['127.0.0.1'],
}

async function withCanary(work: (port: number, hits: string[]) => Promise<void>): Promise<void> {
  const hits: string[] = []
  const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url)
    hits.push(`${request.headers.get('host')}${pathname}`)
    const to = searchParams.get('to')
    if (to !== null) return new Response(null, { status: 302, headers: { location: to } })
    return Response.json([...request.headers])
  })
  try {
    await work(server.addr.port, hits)
  } finally {
    await server.shutdown()
  }
}

function open(list: OutboundList | string[], resolve = (host: string) => Promise.resolve(NAMES[host] ?? [])) {
  const outbound = new Outbound(toPolicy(list), { resolve })
  const ask = async (url: string, more: Partial<OutboundRequest> = {}) => {
    const use = { subRequests: 0, requestBytes: 0, responseBytes: 0 }
    const signal = AbortSignal.timeout(5000)
    const request = {
      url,
      method: 'GET',
      headers: [],
      body: null,
      redirect: 'follow',
      signal,
      ...more,
    } as const
    const { status, body } = await outbound.fetch(request, use)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
    return { status, text, use }
  }
  return { ask, outbound, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() }
}

/** Written as a URL, PORT being the canary's: none may get there with any host and the port allowed. */
const URLS = [
  ...Object.keys(NAMES).map((name) => `http://${name}:PORT/`),
  // Loopback, as people write it.
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://0177.0.0.01:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127.0.0.1..:PORT/',
  'http://localhost.:PORT/',
  'http://LOCALHOST:PORT/',
  'http://LoCaLhOsT.:PORT/',
  'http://loop.test.:PORT/',
  'http://LOOP.TEST:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://[::1]:PORT/',
  'http://[::]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[fe80::1%25eth0]:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://%6c%6f%63alhost:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://ｌｏｃａｌｈｏｓｔ:PORT/',
  'http://lo\u00adcalhost:PORT/',
  'http://127.0.0.1:0PORT/',
  'http:127.0.0.1:PORT/',
  'http:/\\127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  ' http://127.0.0.1:PORT/ ',
  'ht\ntp://127.0.0.1:PORT/',
  'http://127.0.0.1\t:PORT/',
  // A name and a password that look like a host, and the reverse.
  'http://good.test@127.0.0.1:PORT/',
  'http://good.test:80@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT@loop.test:PORT/',
  'http://good.test#@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT\\@good.test/',
  'http://user:pw@loop.test:PORT/',
  // Other schemes.
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_x',
  'ftp://127.0.0.1:PORT/',
  'data:text/plain,x',
  'blob:http://127.0.0.1:PORT/x',
  'ws://127.0.0.1:PORT/',
  'unix:/run/docker.sock',
  'http+unix://%2frun%2fdocker.sock/',
  'javascript:1',
  '//127.0.0.1:PORT/',
  '/path',
  '',
  'http://',
  'http://:PORT/',
  'http://169.254.169.254/latest/meta-data/',
  'http://100.100.100.200/latest/meta-data/',
  'http://168.63.129.16/metadata/',
  'http://[fd00:ec2::254]/latest/',
] as const

Deno.test(`${URLS.length} ways to write the host's own network reach nothing`, async () => {
  await withCanary(async (port, hits) => {
    await using any = open([`http://*:${port}`, 'http://*', 'https://*'])
    for (const url of URLS) {
      const text = url.replaceAll('PORT', `${port}`)
      const error = await assertRejects(() => any.ask(text), OutboundError, undefined, text)
      assert(!/\b10\.0\.0\.1\b|169\.254\.169\.254 /.test(error.message.replace(text, '')), error.message)
      // The same by a redirect of a host that is allowed.
      await using redirecting = open([
        `http://localhost:${port}`,
        `http://*:${port}`,
        'http://*',
        'https://*',
      ])
      const hop = `http://localhost:${port}/hop?to=${encodeURIComponent(text)}`
      // A relative address leads back to the host that was asked, which is allowed, and so is it by another spelling.
      const isAllowed = URL.canParse(text, hop) && /^localhost\.?$/.test(new URL(text, hop).hostname) &&
        new URL(text, hop).username === ''
      if (isAllowed || /[^\x20-\x7e]/.test(text)) continue
      await assertRejects(() => redirecting.ask(hop), Error, undefined, `redirect to ${text}`)
    }
    assertEquals(hits.filter((hit) => !hit.endsWith('/hop')), [])
  })
})

/** By address: whether the host connects to it, where nobody named it. */
const ADDRESSES: readonly (readonly [string, boolean])[] = [
  ['1.1.1.1', true],
  ['93.184.216.34', true],
  ['2606:4700::1111', true],
  ['::ffff:1.1.1.1', true],
  ...[
    '10.0.0.0',
    '10.255.255.255',
    '172.16.0.0',
    '172.31.255.255',
    '192.168.0.0',
    '192.168.255.255',
    '127.255.255.254',
  ]
    .map((address) => [address, false] as const),
  ['172.15.255.255', true],
  ['172.32.0.0', true],
  ['11.0.0.0', true],
  ...[
    '100.64.0.0',
    '100.127.255.255',
    '0.1.2.3',
    '192.0.0.8',
    '192.88.99.1',
    '198.19.255.255',
    '203.0.113.7',
    '198.51.100.1',
  ]
    .map((address) => [address, false] as const),
  ...[
    '::ffff:10.0.0.1',
    '::ffff:0:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '100::1',
    '3fff::1',
    '5f00::1',
    '4000::1',
    'fdff::1',
  ]
    .map((address) => [address, false] as const),
  ...['', '127.1', '1', '0x1.1.1.1', '1.1.1.1 ', '01.1.1.1', 'fe80::1%lo', 'name', '1.1.1', '[::1]'].map((
    address,
  ) => [address, false] as const),
]

Deno.test(`${ADDRESSES.length} addresses are public or are not`, async () => {
  const kinds = await loadAddressKinds()
  for (const [address, reachable] of ADDRESSES) {
    assertEquals(isReachable(kinds, address, []), reachable, address)
  }
  assertEquals(isReachable(kinds, '10.1.2.3', [toRange('10.1.0.0/16')!]), true)
  assertEquals(isReachable(kinds, '::ffff:10.1.2.3', [toRange('10.1.0.0/16')!]), true)
  assertEquals(isReachable(kinds, '10.2.2.3', [toRange('10.1.0.0/16')!]), false)
})

Deno.test('a name that changes between two looks is looked up once, where the connection is made', async () => {
  await withCanary(async (port, hits) => {
    let looks = 0
    const answers = [['10.9.9.9'], ['127.0.0.1']]
    await using rebinding = open(
      { allow: [`http://rebind.test:${port}`], addresses: ['10.9.9.9'], idleMs: 300 },
      () => Promise.resolve(answers[Math.min(looks++, 1)]),
    )
    // The first look was fine and nobody answers there; the second would lead to the canary and is checked as well.
    await assertRejects(() => rebinding.ask(`http://rebind.test:${port}/`), OutboundError)
    assertEquals(looks, 1)
    await assertRejects(() => rebinding.ask(`http://rebind.test:${port}/`), OutboundError, 'public internet')
    assertEquals([looks, hits], [2, []])
  })
})

Deno.test('what a list names is reached, and nothing beside it', async () => {
  await withCanary(async (port, hits) => {
    const named = [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://loop.test:${port}`]
    await using some = open(named)
    assertEquals((await some.ask(`http://127.0.0.1:${port}/a`)).status, 200)
    assertEquals((await some.ask(`http://localhost:${port}/b`)).status, 200)
    assertEquals((await some.ask(`http://LOCALHOST.:${port}/c`)).status, 200)
    // A name is not its address: that it leads to the machine itself must be said.
    await assertRejects(() => some.ask(`http://loop.test:${port}/d`), OutboundError, 'public internet')
    await using allowed = open({ allow: [`http://*.test:${port}`], addresses: ['127.0.0.0/8'] })
    assertEquals((await allowed.ask(`http://loop.test:${port}/e`)).status, 200)
    await assertRejects(() => allowed.ask(`http://private.test:${port}/`), OutboundError, 'public internet')
    await assertRejects(() => allowed.ask(`http://test:${port}/`), OutboundError, 'may not reach')
    await assertRejects(() => allowed.ask(`http://eviltest:${port}/`), OutboundError, 'may not reach')
    await assertRejects(() => allowed.ask(`http://loop.test.evil:${port}/`), OutboundError, 'may not reach')
    await assertRejects(() => allowed.ask(`http://loop.test:${port + 1}/`), OutboundError, 'may not reach')
    await assertRejects(() => allowed.ask(`https://loop.test:${port}/`), OutboundError, 'may not reach')
    await using methods = open({ allow: [{ host: `http://127.0.0.1:${port}`, methods: ['GET'] }] })
    assertEquals((await methods.ask(`http://127.0.0.1:${port}/f`)).status, 200)
    await assertRejects(
      () => methods.ask(`http://127.0.0.1:${port}/`, { method: 'DELETE' }),
      OutboundError,
      'may not DELETE',
    )
    await using none = open([])
    await assertRejects(() => none.ask('https://example.com/'), OutboundError, 'hosts: none')
    assertEquals(hits.map((hit) => hit.slice(-2)), ['/a', '/b', '/c', '/e', '/f'])
  })
})

Deno.test('headers of proxies and of connections stay with the program', async () => {
  await withCanary(async (port) => {
    await using some = open([`http://127.0.0.1:${port}`])
    const headers = [
      ['Host', 'internal'],
      ['X-Forwarded-For', '127.0.0.1'],
      ['X-Forwarded-Host', 'internal'],
      ['Forwarded', 'for=127.0.0.1'],
      ['X-Real-IP', '127.0.0.1'],
      ['Via', '1.1 x'],
      ['Proxy-Authorization', 'x'],
      ['Connection', 'close, x-own'],
      ['TE', 'trailers'],
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '5'],
      ['Expect', '100-continue'],
      ['X-Own', 'stays'],
    ] as const
    const { text } = await some.ask(`http://127.0.0.1:${port}/`, { headers })
    const received = new Map(JSON.parse(text) as [string, string][])
    assertEquals([received.get('host'), received.get('x-own')], [`127.0.0.1:${port}`, 'stays'])
    assertEquals(
      [...received.keys()].filter((name) => /forwarded|real-ip|via|proxy|^te$|expect|length/.test(name)),
      [],
    )
    for (const value of ['a\r\nx-injected: 1', 'a\0b', 'a\nb']) {
      await assertRejects(
        () => some.ask(`http://127.0.0.1:${port}/`, { headers: [['x-own', value]] }),
        OutboundError,
      )
    }
    for (const method of ['GET / HTTP/1.1\r\nx: y', '', 'G T', 'CONNECT']) {
      await assertRejects(() => some.ask(`http://127.0.0.1:${port}/`, { method }), OutboundError)
    }
  })
})
