/** What an isolated handler may do to its request without grants, and with each. */
import { assertEquals, assertStringIncludes, assertThrows } from '@std/assert'
import { HttpError } from '@mayfly/mayfly'
import type { RequestState } from '../../src/context/state.ts'
import { applyPending } from '../../src/context/headers.ts'
import type { Admission } from '../../src/isolate/answer/admission.ts'
import { toResponse } from '../../src/isolate/answer/answer_to_context.ts'
import { CONNECTION_HEADERS, GUARDED_HEADERS, toGrants } from '../../src/isolate/plan/grants.ts'
import type { HeaderPairs, ResponseHead } from '../../src/isolate/wire/message.ts'
import { refusedOf, warnOfRefusals } from '../../src/isolate/answer/refusals.ts'
import { createStackMapper } from '../../src/isolate/plan/stack.ts'
import { createContext } from '../context/request.ts'

const NOTHING = new Uint8Array(0)

/** A request as middleware leaves it. */
function createSite(): RequestState {
  const ctx = createContext('/')
  ctx.pending = {
    single: new Map([['content-security-policy', "default-src 'none'"], ['x-own', 'host']]),
    appended: [['set-cookie', 'host=1'], ['link', '<host>']],
  }
  ctx.bag = { user: 'ann', measure: () => 5 } as never
  ctx.session = { data: { user: 'ann' }, changed: false }
  return ctx
}

function admit(may: readonly string[], ctx = createSite()): Admission {
  return { ctx, grants: toGrants(may), refusals: null }
}

/** The headers of the response that leaves, and what was refused. */
function answer(
  may: readonly string[],
  head: ResponseHead,
  ctx?: RequestState,
): { headers: Record<string, string>; cookies: string[]; refused: unknown; ctx: RequestState } {
  const admission = admit(may, ctx)
  const response = toResponse(admission, { head, body: NOTHING }, createStackMapper({})) as Response
  const { headers } = response
  applyPending(admission.ctx, headers, false)
  const cookies = headers.getSetCookie()
  headers.delete('set-cookie')
  return {
    headers: Object.fromEntries(headers),
    cookies,
    refused: admission.refusals === null ? null : Object.fromEntries(admission.refusals),
    ctx: admission.ctx,
  }
}

function plain(headers: HeaderPairs, more: Partial<ResponseHead> = {}): ResponseHead {
  return { status: 200, headers, ...more }
}

const OWN = { 'content-security-policy': "default-src 'none'", 'x-own': 'host', link: '<host>' }
const TRIES: HeaderPairs = [
  ['content-type', 'text/plain'],
  ['x-mine', 'yes'],
  ['location', '/a'],
  ['cache-control', 'no-store'],
  ['content-security-policy', '*'],
  ['x-own', 'guest'],
  ['x-request-id', 'guest'],
  ['set-cookie', 'guest=1'],
  ['connection', 'close'],
  ['access-control-allow-origin', '*'],
]
const MINE = { 'content-type': 'text/plain', 'x-mine': 'yes', location: '/a', 'cache-control': 'no-store' }
const REFUSED = {
  'headers:content-security-policy': 1,
  'headers:x-own': 1,
  'headers:x-request-id': 1,
  cookies: 1,
  'headers:connection': 1,
  'headers:access-control-allow-origin': 1,
}

Deno.test("a handler without grants sets its own headers, and middleware's stay", () => {
  const { headers, cookies, refused } = answer([], plain(TRIES))
  assertEquals([headers, cookies, refused], [{ ...OWN, ...MINE }, ['host=1'], REFUSED])
})

Deno.test('the same goes for what ctx.set collected', () => {
  for (const which of ['single', 'appended'] as const) {
    const pending = { single: [], appended: [], [which]: TRIES }
    const { headers, cookies, refused } = answer([], plain([], { pending }))
    assertEquals([headers, cookies, refused], [{ ...OWN, ...MINE }, ['host=1'], REFUSED], which)
  }
})

Deno.test('the same goes for the headers of an error', () => {
  const admission = admit([])
  const http = { status: 418, type: 't', headers: Object.fromEntries(TRIES) }
  const head = { error: { name: 'HttpError', message: 'm', http } }
  const error = assertThrows(
    () => toResponse(admission, { head, body: NOTHING }, createStackMapper({})),
    HttpError,
  )
  assertEquals([error.headers, Object.fromEntries(admission.refusals!)], [MINE, REFUSED])
})

Deno.test('the same goes for the headers of a view', () => {
  const admission = admit([])
  let given: unknown
  const host = { ...admission.ctx.host, render: (...args: unknown[]) => (given = args[3], new Response()) }
  const ctx = Object.assign(admission.ctx, { host }) as RequestState
  const head = { view: { name: 'v', options: { status: 201, headers: TRIES } } }
  toResponse({ ...admission, ctx }, { head, body: new TextEncoder().encode('{}') }, createStackMapper({}))
  assertEquals(given, { status: 201, headers: Object.entries(MINE) } as unknown)
})

Deno.test("a header with middleware's own value is no attempt, and Vary is joined", () => {
  const ctx = createSite()
  ctx.pending!.single.set('vary', 'accept')
  const given: HeaderPairs = [['x-own', 'host'], ['vary', 'cookie']]
  const { headers, refused } = answer([], plain(given), ctx)
  assertEquals([headers, refused], [{ ...OWN, vary: 'cookie, accept' }, null])
})

Deno.test('every header that is guarded, and none else, needs a grant; none opens the connection', () => {
  for (const name of GUARDED_HEADERS) {
    const given = plain([[name, 'guest']])
    assertEquals(answer([], given, createContext('/')).refused, { [`headers:${name}`]: 1 }, name)
    for (const may of [[`headers:${name}`], ['headers:*']]) {
      assertEquals(answer(may, given, createContext('/')).headers, { [name]: 'guest' }, name)
    }
    assertEquals(answer(['headers:x-other', 'cookies', 'state'], given).headers[name], (OWN as never)[name])
  }
  for (const name of CONNECTION_HEADERS) {
    assertEquals(answer(['headers:*'], plain([[name, 'guest']]), createContext('/')).headers, {}, name)
  }
})

Deno.test('SECURITY.md lists what is guarded', async () => {
  const text = await Deno.readTextFile(new URL('../../SECURITY.md', import.meta.url))
  const families = ['access-control-', 'cross-origin-', 'content-security-policy-report-only']
  const missing = [...GUARDED_HEADERS].filter((name) =>
    !families.some((family) => name.startsWith(family)) && !text.includes(`\`${name}\``)
  )
  assertEquals(missing, [])
})

Deno.test('grants of headers and cookies let the handler win, as it does on the host', () => {
  const every = answer(['headers:*'], plain(TRIES))
  assertEquals(every.refused, { cookies: 1, 'headers:connection': 1 })
  assertEquals(every.headers['content-security-policy'], '*')
  const cookies = answer(['cookies'], plain([['set-cookie', 'guest=1'], ['set-cookie', 'guest=2']]))
  assertEquals([cookies.cookies, cookies.refused], [['guest=1', 'guest=2', 'host=1'], null])
})

Deno.test('session and state are read, and changed with a grant', () => {
  const head = plain([], { session: { data: { user: 'root' } }, state: { user: 'root' } })
  const { ctx, refused } = answer([], head)
  assertEquals(refused, { state: 1, session: 1 })
  assertEquals([ctx.session, ctx.bag!.user], [{ data: { user: 'ann' }, changed: false }, 'ann'])
  const granted = answer(['session', 'state'], head)
  assertEquals([granted.refused, granted.ctx.session, granted.ctx.bag!.user], [
    null,
    { data: { user: 'root' }, changed: true },
    'root',
  ])
  assertEquals(typeof granted.ctx.bag!.measure, 'function')
})

Deno.test('a refusal is told once for a handler, and as an event each time', () => {
  const lines: string[] = []
  const { error } = console
  console.error = (line: string) => void lines.push(line)
  try {
    const handler = {}
    const refusals = new Map([['cookies', 2], ['headers:x-request-id', 1], ['headers:te', 1], ['state', 1]])
    assertEquals(refusedOf(refusals)[0], { reason: 'cookies', times: 2 })
    for (let i = 0; i < 3; i++) warnOfRefusals(handler, 'GET a.ts', refusals)
    assertEquals(lines.length, 4)
    for (
      const [index, words] of [
        "GET a.ts: its cookies were dropped: it lacks the grant, isolated = { may: ['cookies'] }",
        "its header x-request-id was dropped: it lacks the grant, isolated = { may: ['headers:x-request-id'] }",
        "its header te was dropped, as it is of the connection and the server's own",
        'its changes of ctx.state were dropped',
      ].entries()
    ) assertStringIncludes(lines[index], words)
    warnOfRefusals({}, 'GET b.ts', refusals)
    assertEquals(lines.length, 8)
  } finally {
    console.error = error
  }
})
