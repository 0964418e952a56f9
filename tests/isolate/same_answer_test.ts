/** One handler, run as a plain route and in a guest: the client cannot tell the difference. */
import { assertEquals, assertInstanceOf, assertRejects, assertThrows } from '@std/assert'
import { join, toFileUrl } from '@std/path'
import { RequestContext } from '../../src/context/context.ts'
import { applyPending } from '../../src/context/headers.ts'
import type { ContextHost } from '../../src/context/state.ts'
import type { Handler } from '../../src/context/types.ts'
import { HttpError } from '../../src/errors/http_error.ts'
import { createBus } from '../../src/events/bus.ts'
import type { Admission } from '../../src/isolate/answer/admission.ts'
import { toResponse } from '../../src/isolate/answer/answer_to_context.ts'
import { toGuestFrame } from '../../src/isolate/answer/context_to_guest.ts'
import { AnswerError, decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { toGrants } from '../../src/isolate/plan/grants.ts'
import { createStackMapper } from '../../src/isolate/plan/stack.ts'
import { readHead, readHeaders } from '../../src/isolate/guest/http/head.ts'
import { readFrame, REQUEST, WIDEST } from '../../src/isolate/wire/wire.ts'
import { exchange, type Guest, withGuest, withRoutes } from './guest_process.ts'

const SOURCE = `
import { HttpError } from '@mayfly/mayfly'
export const isolated = true
const big = 'x'.repeat(70_000)
const cases = {
  json: (ctx) => ctx.send.json({ a: ['é', null, undefined], big: ctx.get.query('big') === undefined ? 1 : big }),
  later: async (ctx) => { await new Promise((r) => setTimeout(r, 1)); return ctx.send.text('later') },
  set: (ctx) => { ctx.set.header('x-a', '1').header('vary', 'accept').header('x-b', '2', { append: true }).cookie('c', 'd', { maxAge: 5 }).status(207); return ctx.send.html('<p>') },
  after: (ctx) => { const r = ctx.send.json(1); ctx.set.header('x-late', '1').header('content-type', 'text/x'); return r },
  own: () => new Response('own', { status: 299, statusText: 'Fine', headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-y', 'z']] }),
  empty: (ctx) => ctx.send.empty(),
  teapot: (ctx) => ctx.send.empty(418),
  redirect: (ctx) => ctx.send.redirect('/x?y#z', 303),
  download: (ctx) => ctx.send.download(new Uint8Array([0, 255, 128]), 'ä.bin'),
  stream: (ctx) => ctx.send.stream((function* () { yield 'a'; yield new Uint8Array([98]) })()),
  sse: (ctx) => ctx.send.sse((async function* () { yield 'one'; yield { event: 'e', data: { a: 1 } } })()),
  state: (ctx) => { const seen = JSON.stringify(ctx.state); ctx.state.user.n++; delete ctx.state.gone; ctx.state.fresh = [1]; return ctx.send.text(seen) },
  session: (ctx) => { const was = ctx.get.session(); ctx.set.session({ n: was.n + 1 }); return ctx.send.json(was) },
  validated: (ctx) => ctx.send.json(ctx.get.validated()),
  request: async (ctx) => { const r = ctx.get.request(); return Response.json([r.url, r.method, [...r.headers], await r.text(), r.signal.aborted]) },
  body: async (ctx) => ctx.send.json([await ctx.get.body() ?? null, await ctx.get.text(), (await ctx.get.bytes()).length]),
  form: async (ctx) => ctx.send.json([...await ctx.get.formData()]),
  blob: async (ctx) => ctx.send.custom(await ctx.get.blob()),
  get: (ctx) => ctx.send.json([ctx.get.method(), ctx.get.url(), ctx.get.pathname(), ctx.get.header(), ctx.get.cookie(), ctx.get.query(), ctx.get.queries('a'), ctx.get.param(), ctx.get.ip(), ctx.get.ip({ direct: true })]),
  http: (ctx) => { ctx.set.header('x-e', '1'); throw new HttpError(422, 'no', { type: 't', headers: { 'x-h': 'v' }, details: { d: 1 } }) },
  fail: (ctx) => ctx.fail(404),
  error: () => { throw new TypeError('private', { cause: new Error('deep') }) },
  malformed: (ctx) => ctx.get.json(),
  view: (ctx) => ctx.render('page', { a: 1 }),
  viewSet: (ctx) => { ctx.set.status(202).header('x-v', '1'); return ctx.render('page', { b: [2] }, { headers: { 'x-w': '2' } }) },
}
export const GET = (ctx) => cases[ctx.get.query('case')](ctx)
export const POST = GET
export const HEAD = GET
`

const METHODS = ['GET', 'HEAD', 'POST']
const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

const REQUESTS: [query: string, init?: RequestInit][] = [
  ...[
    'json',
    'json&big',
    'later',
    'set',
    'after',
    'own',
    'empty',
    'teapot',
    'redirect',
    'download',
    'stream',
    'sse',
    'state',
    'session',
  ]
    .map((name): [string] => [name]),
  ...['validated', 'request', 'http', 'fail', 'error', 'view', 'viewSet', 'body'].map((
    name,
  ): [string] => [name]),
  ['get&a=1&a=%20b', { headers: { cookie: 'x=1; y="2"', 'X-Forwarded-For': '9.9.9.9', accept: 'a, b' } }],
  ['json', { method: 'HEAD' }],
  ['set', { method: 'HEAD' }],
  ['request', { method: 'POST', body: 'text' }],
  ['body', { method: 'POST', body: '{"a":"é"}', headers: JSON_TYPE }],
  ['body', { method: 'POST', body: 'a=1&b=2&a=3', headers: FORM_TYPE }],
  ['form', { method: 'POST', body: 'a=1&b=2&a=3', headers: FORM_TYPE }],
  ['form', { method: 'POST', body: 'a=1', headers: { 'content-type': 'text/plain' } }],
  ['blob', { method: 'POST', body: new Uint8Array([1, 2, 254]) }],
  ['malformed', { method: 'POST', body: '{"a', headers: JSON_TYPE }],
]

function createHost(): ContextHost {
  return {
    bus: createBus(),
    maxBodyBytes: 1000,
    isTrustedProxy: (address) => address === '10.0.0.1',
    env: {},
    worker: undefined,
    render: (state, name, data, options) => {
      const status = options?.status ?? (state.status || 200)
      return new Response(`${name} ${JSON.stringify(data)}`, { status, headers: options?.headers })
    },
    sendFile: () => Promise.reject(new Error('no files')),
    streams: new Set(),
    streamFailed: () => {},
    sockets: new Set(),
  }
}

/** `bare`: without all that middleware may add. */
function createContext(query: string, init?: RequestInit, bare = false): RequestContext {
  const url = `http://localhost/all?case=${query}`
  const request = new Request(url, init)
  const peer = { remoteAddr: { transport: 'tcp', hostname: '10.0.0.1', port: 1 } as const }
  const ctx = new RequestContext(createHost(), request, peer, request.method, url, '/all')
  if (bare) return ctx
  ctx.params = Object.assign(Object.create(null), { id: 'ü' })
  ctx.bag = { user: { n: 1 }, gone: true, measure: () => 5 } as never
  ctx.session = { data: { n: 1 }, changed: false }
  ctx.validated = { value: { ok: true } }
  ctx.pending = { single: new Map([['x-before', '1']]), appended: [['set-cookie', 'before=1']] }
  return ctx
}

/** All that a client or a middleware could see. */
async function observe(ctx: RequestContext, run: () => Response | Promise<Response>): Promise<unknown> {
  let seen: unknown
  try {
    const response = await run()
    applyPending(ctx, response.headers, false)
    const { status, statusText, headers } = response
    seen = { status, statusText, headers: [...headers], body: await response.bytes() }
  } catch (error) {
    const { name, message, cause } = error as Error
    const http = error instanceof HttpError ? [error.status, error.type, error.headers, error.details] : null
    seen = {
      name,
      message,
      http,
      cause: http === null && cause instanceof Error ? cause.message : null,
      pending: ctx.pending,
    }
  }
  return { seen, bag: { ...ctx.bag, measure: typeof ctx.bag?.measure }, session: ctx.session }
}

/** With every grant: only then a handler can do all that it can on the host. */
function admissionOf(ctx: RequestContext): Admission {
  return { ctx, grants: toGrants(['session', 'cookies', 'state', 'headers:*']), refusals: null }
}

async function askGuest(guest: Guest, ctx: RequestContext): Promise<Response> {
  const handler = guest.program.handlers.findIndex(({ method }) => method === ctx.method)
  const answer = decodeResponse(await exchange(guest, await toGuestFrame(ctx, handler)), WIDEST)
  return toResponse(admissionOf(ctx), answer, guest.program.stacks)
}

Deno.test('a handler answers in a guest as it does on the host', async () => {
  const files = { 'all.ts': SOURCE }
  const own = new URL('../../mod.ts', import.meta.url).href
  await withRoutes({ 'all.js': SOURCE.replace('@mayfly/mayfly', own) }, async (folder) => {
    const plain: Record<string, Handler> = await import(toFileUrl(join(folder, 'all.js')).href)
    await withGuest(files, async (guest) => {
      assertEquals(guest.program.handlers.map(({ method }) => method), METHODS)
      for (const [index, [query, init]] of [...REQUESTS, ...REQUESTS].entries()) {
        const bare = index >= REQUESTS.length
        const host = createContext(query, init, bare)
        const expected = await observe(host, () => plain[host.method](host))
        const isolated = createContext(query, init, bare)
        const got = await observe(isolated, () => askGuest(guest, isolated))
        assertEquals(got, expected, `${init?.method ?? 'GET'} ${query}`)
      }
    })
  })
})

Deno.test('no client can pose as the warm-up', async () => {
  const ctx = createContext('a', { headers: { 'X-Mayfly-Warmup': '1', 'x-mayfly': '2' } })
  const { header } = readFrame(await toGuestFrame(ctx, 0), REQUEST)
  const headers = new Map(readHeaders(readHead(new TextDecoder().decode(header))))
  assertEquals([headers.get('x-mayfly-warmup'), headers.get('x-mayfly')], [undefined, '2'])
})

Deno.test('toGuestFrame refuses a body over the limit and a header that no frame can hold', async () => {
  const body = 'x'.repeat(1001)
  const tooLarge = await assertRejects(
    async () => await toGuestFrame(createContext('a', { method: 'POST', body }), 0),
    HttpError,
  )
  assertEquals(tooLarge.status, 413)
  const ctx = createContext('a')
  ctx.bag = { text: 'x'.repeat(1 << 20) }
  assertThrows(() => toGuestFrame(ctx, 0), RangeError, 'Making a frame: header of')
})

Deno.test('toResponse refuses answers that fit no request', () => {
  const stacks = createStackMapper({})
  const text = (body: string) => new TextEncoder().encode(body)
  const bare = createContext('a')
  bare.session = null
  const none = text('')
  assertThrows(
    () =>
      toResponse(
        admissionOf(bare),
        { head: { status: 200, headers: [], session: { data: {} } }, body: none },
        stacks,
      ),
    AnswerError,
    'the route has none',
  )
  assertThrows(
    () => toResponse(admissionOf(bare), { head: { status: 204, headers: [] }, body: text('x') }, stacks),
    AnswerError,
    'want none with status 204',
  )
  for (const data of ['', '[]', 'null', '5', '{']) {
    assertThrows(
      () => toResponse(admissionOf(bare), { head: { view: { name: 'v' } }, body: text(data) }, stacks),
      AnswerError,
      'the data of the view "v"',
    )
  }
  const state = JSON.parse('{"__proto__":{"admin":true}}')
  assertInstanceOf(
    toResponse(admissionOf(bare), { head: { status: 200, headers: [], state }, body: none }, stacks),
    Response,
  )
  assertEquals((bare.bag as Record<string, unknown>).admin, undefined)
})
