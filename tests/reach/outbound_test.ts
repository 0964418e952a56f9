import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from '@std/assert'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { Outbound, OutboundError, type OutboundRequest } from '../../src/reach/outbound/fetch.ts'
import { type OutboundList, toPolicy } from '../../src/reach/outbound/policy.ts'

const TOKEN = 'tok-4f9a8b7c6d5e'

function echo(request: Request): Response | Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  switch (pathname) {
    case '/headers':
      return Response.json([...request.headers])
    case '/echo-header':
      return new Response('x', {
        headers: { 'x-echo': request.headers.get('authorization') ?? '', 'x-own': 'y' },
      })
    case '/redirect':
      return new Response('moved', {
        status: Number(searchParams.get('status') ?? 302),
        headers: { location: searchParams.get('to')! },
      })
    case '/body':
      return request.text().then((text) =>
        new Response(`${request.method} ${request.headers.get('content-type')} ${text}`)
      )
    case '/bomb': {
      const zeros = new Uint8Array(16 << 20)
      const coding = searchParams.get('coding')!
      const once = coding.startsWith('br')
        ? brotliCompressSync(zeros)
        : coding === 'deflate'
        ? deflateSync(zeros)
        : gzipSync(zeros)
      return new Response(new Uint8Array(coding === 'gzip, gzip' ? gzipSync(once) : once), {
        headers: { 'content-encoding': coding },
      })
    }
    case '/gzip':
      return new Response(new Uint8Array(gzipSync('plain text')), { headers: { 'content-encoding': 'gzip' } })
    case '/broken':
      return new Response('no gzip at all', { headers: { 'content-encoding': 'gzip' } })
    case '/endless': {
      const chunk = new Uint8Array(65_536)
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }))
    }
    case '/never':
      return new Promise(() => {})
    case '/split': {
      const token = request.headers.get('authorization')!
      return new Response(
        new ReadableStream({
          async start(controller) {
            for (const char of `before ${token} after`) {
              controller.enqueue(new TextEncoder().encode(char))
              await new Promise((go) => setTimeout(go, 1))
            }
            controller.close()
          },
        }),
      )
    }
  }
  return new Response('hello')
}

interface Servers {
  readonly a: string
  readonly b: string
}

async function withServers(work: (servers: Servers) => Promise<void>): Promise<void> {
  const abort = new AbortController()
  const servers = [1, 2].map(() =>
    Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {}, signal: abort.signal }, echo)
  )
  try {
    const [a, b] = servers.map(({ addr }) => `http://127.0.0.1:${addr.port}`)
    await work({ a, b })
  } finally {
    abort.abort()
    await Promise.all(servers.map(({ finished }) => finished))
  }
}

function open(list: OutboundList) {
  const outbound = new Outbound(toPolicy(list))
  const use = { subRequests: 0, requestBytes: 0, responseBytes: 0 }
  const ask = async (url: string, more: Partial<OutboundRequest> = {}) => {
    const signal = more.signal ?? AbortSignal.timeout(20_000)
    const request = {
      url,
      method: 'GET',
      headers: [],
      body: null,
      redirect: 'follow',
      ...more,
      signal,
    } as const
    const response = await outbound.fetch(request, use)
    const chunks = []
    for await (const chunk of response.body) chunks.push(chunk)
    return {
      ...response,
      text: await new Blob(chunks as BlobPart[]).text(),
      headers: new Headers(response.headers as [string, string][]),
    }
  }
  return { ask, use, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() }
}

Deno.test('a secret goes to its host alone, and over what the program sends', async () => {
  await withServers(async ({ a, b }) => {
    await using some = open({
      allow: [a, b],
      headers: { [a]: { Authorization: () => `Bearer ${TOKEN}`, 'x-key': 'short' } },
    })
    const headers = [['authorization', 'mine'], ['cookie', 'c=1']] as const
    const other = JSON.parse((await some.ask(`${b}/headers`, { headers })).text)
    assertEquals(new Map(other).get('authorization'), 'mine')
    // The echo of the secret ends the answer; what the server saw is asked through a redirect to the other host.
    await assertRejects(() => some.ask(`${a}/headers`, { headers }), OutboundError, 'what the host added')
    const hop = await some.ask(`${a}/redirect?to=${encodeURIComponent(`${b}/headers`)}`, { headers })
    const seen = new Map(JSON.parse(hop.text) as [string, string][])
    assertEquals([seen.get('authorization'), seen.get('cookie'), seen.get('x-key')], [
      undefined,
      undefined,
      undefined,
    ])
    assertEquals([hop.redirected, hop.url], [true, `${b}/headers`])
    // Within a host, what the program sent stays.
    const own = await some.ask(`${b}/redirect?to=/headers`, { headers })
    assertEquals(new Map(JSON.parse(own.text)).get('cookie'), 'c=1')
  })
})

Deno.test('a secret that a server echoes reaches no program: headers, body, pieces of a body, errors', async () => {
  await withServers(async ({ a }) => {
    await using some = open({ allow: [a], headers: { [a]: { authorization: `Bearer ${TOKEN}` } } })
    const echoed = await some.ask(`${a}/echo-header`)
    assertEquals([echoed.headers.get('x-echo'), echoed.headers.get('x-own')], [null, 'y'])
    const error = await assertRejects(() => some.ask(`${a}/split`), OutboundError)
    assert(!Deno.inspect(error).includes(TOKEN))
    await using failing = open({
      allow: [a],
      headers: {
        [a]: {
          authorization: () => {
            throw new Error(TOKEN)
          },
        },
      },
    })
    const thrown = await assertRejects(() => failing.ask(`${a}/`), OutboundError, 'no headers for it now')
    assert(!Deno.inspect(thrown).includes(TOKEN))
    const bad = assertThrows(
      () => toPolicy({ allow: [a], headers: { [a]: { 'bad name': TOKEN } } }),
      TypeError,
    )
    assert(!bad.message.includes(TOKEN))
    assert(
      !assertThrows(() => toPolicy({ allow: [a], headers: { [a]: { 'x': `${TOKEN}\n` } } }), TypeError)
        .message.includes(TOKEN),
    )
  })
})

Deno.test('redirects are followed by the rules of fetch, and counted', async () => {
  await withServers(async ({ a, b }) => {
    await using some = open({ allow: [a], redirects: 3 })
    const body = new TextEncoder().encode('data')
    const headers = [['content-type', 'text/x']] as const
    const to = (status: number) =>
      some.ask(`${a}/redirect?status=${status}&to=/body`, { method: 'POST', body, headers })
    assertEquals((await to(302)).text, 'GET null ')
    assertEquals((await to(303)).text, 'GET null ')
    assertEquals((await to(307)).text, 'POST text/x data')
    assertEquals((await to(308)).text, 'POST text/x data')
    const pieces = (async function* () {
      yield body
    })()
    await assertRejects(
      () => some.ask(`${a}/redirect?status=307&to=/body`, { method: 'POST', body: pieces }),
      OutboundError,
      'cannot be sent again',
    )
    await assertRejects(() => some.ask(`${a}/redirect?to=${b}/`), OutboundError, 'may not reach')
    assertEquals((await some.ask(`${a}/redirect?to=${b}/`, { redirect: 'manual' })).status, 302)
    await assertRejects(
      () => some.ask(`${a}/redirect?to=/`, { redirect: 'error' }),
      OutboundError,
      'redirect is error',
    )
    const loop = `/redirect?to=${
      encodeURIComponent('/redirect?to=' + encodeURIComponent('/redirect?to=%2Fredirect%3Fto%3D%252F'))
    }`
    await assertRejects(() => some.ask(a + loop), OutboundError, 'more than 3 redirects')
  })
})

Deno.test('requests, bytes each way and silence are bounded', async () => {
  await withServers(async ({ a }) => {
    await using count = open({ allow: [a], subRequests: 3 })
    for (let at = 0; at < 3; at++) await count.ask(`${a}/`)
    await assertRejects(() => count.ask(`${a}/`), OutboundError, 'more than 3 requests')
    await using bytes = open({ allow: [a], requestBytes: 10, responseBytes: 1 << 20 })
    await assertRejects(
      () => bytes.ask(`${a}/body`, { method: 'POST', body: new Uint8Array(11) }),
      OutboundError,
      'requestBytes',
    )
    const pieces = (async function* () {
      for (;;) yield new Uint8Array(4)
    })()
    await assertRejects(
      () => bytes.ask(`${a}/body`, { method: 'POST', body: pieces }),
      OutboundError,
      'requestBytes',
    )
    await assertRejects(() => bytes.ask(`${a}/endless`), OutboundError, 'responseBytes')
    await using idle = open({ allow: [a], idleMs: 100 })
    await assertRejects(() => idle.ask(`${a}/never`), OutboundError, 'no answer in time')
    const abort = new AbortController()
    setTimeout(() => abort.abort(new DOMException('over', 'AbortError')), 20)
    await using slow = open({ allow: [a] })
    await assertRejects(() => slow.ask(`${a}/never`, { signal: abort.signal }), DOMException, 'over')
  })
})

Deno.test('a decompression bomb ends at the bound', async () => {
  await withServers(async ({ a }) => {
    await using some = open({ allow: [a], responseBytes: 1 << 20 })
    for (const coding of ['gzip', 'deflate', 'br', 'gzip, gzip']) {
      const before = some.use.responseBytes = 0
      await assertRejects(
        () => some.ask(`${a}/bomb?coding=${encodeURIComponent(coding)}`),
        OutboundError,
        'responseBytes',
        coding,
      )
      assert(some.use.responseBytes - before < 2 << 20, `${coding}: ${some.use.responseBytes}`)
    }
    some.use.responseBytes = 0
    const { text, headers } = await some.ask(`${a}/gzip`)
    assertEquals([text, headers.get('content-encoding')], ['plain text', null])
    await assertRejects(() => some.ask(`${a}/broken`), OutboundError, 'decompressed')
    await assertRejects(() => some.ask(`${a}/bomb?coding=gzip,gzip,gzip`), OutboundError, 'compression')
    await assertRejects(() => some.ask(`${a}/bomb?coding=zstd`), OutboundError, 'compression')
  })
})

Deno.test('an error names the host that was asked, and neither its address nor the query', async () => {
  await using some = open({ allow: ['http://localhost:1'] })
  const error = await assertRejects(
    () => some.ask('http://localhost:1/path?key=secret'),
    OutboundError,
    'refused',
  )
  assertStringIncludes(error.message, 'http://localhost:1/path')
  assert(!/127\.0|::1|secret/.test(error.message))
})

Deno.test('lists that are none are refused in words', () => {
  const lists: [unknown, string][] = [
    [{ allow: 'x' }, 'an array'],
    [{ allow: ['https://'] }, 'a host is'],
    [{ allow: ['ftp://x'] }, 'a host is'],
    [{ allow: ['a/path'] }, 'a host is'],
    [{ allow: ['*.10.0.0.1'] }, 'a host is'],
    [{ allow: ['user@host'] }, 'a host is'],
    [{ allow: [7] }, 'a host is'],
    [{ allow: [{ host: 'a', ports: [0] }] }, 'a port'],
    [{ allow: [{ host: 'a', methods: ['get'] }] }, 'methods'],
    [{ allow: [], addresses: ['10.0.0.0/33'] }, 'addresses'],
    [{ allow: [], subRequests: -1 }, 'subRequests'],
    [{ allow: [], hosts: [] }, 'no member hosts'],
  ]
  for (const [list, words] of lists) assertThrows(() => toPolicy(list as OutboundList), Error, words)
})
