import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { type Middleware, Router } from '@mayfly/mayfly'
import { type Case, testCases, testSite } from './cases.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite, fixture } from './site.ts'

const site = defineSite()
const JSON_ACCEPT = { accept: 'application/json' }
const PROBLEM = { 'content-type': 'application/problem+json' }
const PAGE = { 'content-type': 'text/html; charset=utf-8' }
const BARE = { type: 'about:blank', title: 'Internal Server Error', status: 500 }

/** A case for GET /PATH. */
function get(path: string, name: string, wanted: Omit<Case, 'name' | 'request'>): Case {
  const title = path.length > 60 ? `a path of ${path.length + 1} characters` : path
  return { name: `${title} ${name}`, request: `GET /${path}`, ...wanted }
}

const UNEXPECTED = ['sync', 'async', 'string', 'nothing', 'object', 'response', 'hostile', 'fail-status']
const NO_RESPONSE = ['returns-nothing', 'returns-null-later', 'returns-text']

testCases('errors in production', site, [
  ...[...UNEXPECTED, ...NO_RESPONSE].flatMap((kind) => [
    get(`throw/${kind}`, 'is a bare problem', {
      headers: JSON_ACCEPT,
      status: 500,
      has: PROBLEM,
      json: BARE,
    }),
    get(`throw/${kind}`, 'is a page that tells nothing', {
      status: 500,
      has: PAGE,
      text: /^(?!.*(SECRET|boom|\.ts))<!doctype html>.*Internal Server Error/s,
    }),
  ]),
  get('throw/http', 'is a whole problem', {
    headers: JSON_ACCEPT,
    status: 422,
    has: { ...PROBLEM, 'retry-after': '9' },
    json: {
      limit: 7,
      status: 422,
      type: 'over-limit',
      title: 'Unprocessable Entity',
      detail: 'over the limit',
    },
  }),
  get('throw/http', 'shows its message on the page', {
    status: 422,
    has: { ...PAGE, 'retry-after': '9' },
    text: /^(?!.*SECRET).*over the limit/s,
  }),
  get('throw/markup', 'is escaped', { status: 400, text: /^(?!.*<script>).*&lt;script&gt;/s }),
  get('throw/fail', 'has the words of the status', {
    headers: JSON_ACCEPT,
    status: 409,
    text: /"title":"Conflict"/,
  }),
  get('nowhere', 'is a problem too', {
    headers: JSON_ACCEPT,
    status: 404,
    has: PROBLEM,
    json: { type: 'about:blank', title: 'Not Found', status: 404 },
  }),
  get('put_only', 'is a problem with Allow', {
    headers: JSON_ACCEPT,
    status: 405,
    has: { ...PROBLEM, allow: 'OPTIONS, PUT' },
  }),
  get('users/%zz', 'is a problem', { headers: JSON_ACCEPT, status: 400, has: PROBLEM }),
  get(`users/${'a'.repeat(2000)}`, 'is a problem', { headers: JSON_ACCEPT, status: 414, has: PROBLEM }),
  { name: 'HEAD of a failing GET', request: 'HEAD /throw/sync', status: 500, text: '' },
])

const ACCEPTS: readonly (readonly [string | undefined, 'page' | 'problem'])[] = [
  [undefined, 'page'],
  ['*/*', 'page'],
  ['text/html', 'page'],
  ['application/json', 'problem'],
  ['application/problem+json', 'problem'],
  ['application/*', 'problem'],
  ['text/html, application/json', 'page'],
  ['application/json, text/html;q=0.9', 'problem'],
  ['text/html;q=0.1, application/json;q=0.2', 'problem'],
  ['text/html;q=0.8, application/json;q=0.2', 'page'],
  ['application/json;q=0, text/html;q=0.1', 'page'],
  ['application/json;q=0.5, */*;q=0.1', 'problem'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'page'],
  ['image/png', 'page'],
  ['APPLICATION/JSON', 'problem'],
  [';;;,,q=', 'page'],
]
testCases(
  'page or problem',
  site,
  ACCEPTS.map(([accept, form]): Case => ({
    name: `Accept: ${accept ?? '(none)'} gets a ${form}`,
    request: 'GET /nowhere',
    headers: accept === undefined ? {} : { accept },
    status: 404,
    has: form === 'page' ? PAGE : PROBLEM,
  })),
)

testSite(
  'an error tells the listener, not the client, what was thrown',
  site,
  async ({ address, errors }) => {
    errors.length = 0
    await exchange(address, toRequest('GET /throw/async'))
    await exchange(address, toRequest('GET /throw/returns-nothing'))
    assertMatch(String(errors[0]), /SECRET in an async handler/)
    assertMatch(String(errors[1]), /throw\/\[kind\]\.ts returned undefined, want a Response/)
  },
)

const development = defineSite({ environment: 'development' })

testSite('in development the page shows stack, source and cause', development, async ({ address }) => {
  const [page] = await exchange(address, toRequest('GET /throw/async'))
  assertEquals(page.status, 500)
  assertStringIncludes(page.text, 'SECRET in an async handler')
  assertStringIncludes(page.text, 'SECRET cause')
  assertMatch(page.text, /throw\/.*kind.*\.ts:\d+:\d+/)
  assertMatch(page.text, /<mark>.*throw new Error\(/s)
  const [hostile] = await exchange(address, toRequest('GET /throw/hostile'))
  assertEquals(hostile.status, 500)
  const [problem] = await exchange(address, toRequest('GET /throw/async', JSON_ACCEPT))
  const { error, ...rest } = JSON.parse(problem.text)
  assertEquals(rest, { ...BARE, detail: 'Error: SECRET in an async handler' })
  assertMatch(error.file, /throw\/.*kind.*\.ts$/)
  assertEquals(error.causes[0].message, 'SECRET cause')
})

testCases('_error.ts', site, [
  get('caught/boom', 'renders', { status: 500, json: { by: 'outer', status: 500, message: 'boom' } }),
  get('caught/teapot', 'gets the status', {
    status: 418,
    json: { by: 'outer', status: 418, message: 'teapot' },
  }),
  get('caught/inner/boom', 'the innermost comes first', { status: 500, text: 'by inner: 500' }),
  get('caught/inner/boom?as=1', 'may choose another status', { status: 299, text: 'by inner: 500' }),
  get('caught/inner/missing', 'one that gives nothing passes it on', {
    status: 404,
    json: { by: 'outer', status: 404, message: 'nothing here' },
  }),
  get('caught/throwing/teapot', 'one that throws passes it on with its status', {
    status: 418,
    json: { by: 'outer', status: 418, message: 'teapot' },
  }),
  get('caught/throwing/boom', 'one that throws does not leak', { status: 500, text: /^(?!.*SECRET)/ }),
  get('caught/nowhere/at/all', 'renders what no route matches below it', {
    status: 404,
    json: { by: 'outer', status: 404, message: 'Not Found' },
  }),
  {
    name: 'renders 405 below it',
    request: 'DELETE /caught/boom',
    status: 405,
    has: { allow: 'GET, HEAD, OPTIONS' },
    text: /"by":"outer"/,
  },
  get('nowhere', 'does not reach beside its folder', { status: 404, has: PAGE }),
])

testCases(
  'router.catch',
  defineSite({
    setup: (router) => router.catch((ctx, { status }) => ctx.send.json({ by: 'hook', status })),
  }),
  [
    get('throw/sync', 'renders', { status: 500, json: { by: 'hook', status: 500 } }),
    get('throw/http', 'keeps the headers of the error', { status: 422, has: { 'retry-after': '9' } }),
    get('nowhere', 'renders 404', { status: 404, json: { by: 'hook', status: 404 } }),
    get('put_only', 'renders 405', {
      status: 405,
      has: { allow: 'OPTIONS, PUT' },
      json: { by: 'hook', status: 405 },
    }),
    get('%zz', 'renders 400', { status: 400, json: { by: 'hook', status: 400 } }),
    get('a'.repeat(9000), 'renders 414', { status: 414, json: { by: 'hook', status: 414 } }),
    get('caught/boom', 'comes after _error.ts', { status: 500, text: /"by":"outer"/ }),
  ],
)

testCases(
  'router.catch that fails',
  defineSite({
    setup: (router) => router.catch(() => Promise.reject(new Error('SECRET hook'))),
  }),
  [
    get('throw/http', 'leaves the default page with the status', {
      status: 422,
      has: PAGE,
      text: /^(?!.*SECRET).*over the limit/s,
    }),
    get('nowhere', 'leaves the default page with the status', { status: 404, has: PAGE }),
  ],
)

testCases('_middleware.ts', site, [
  get('onion', 'wraps its folder', { status: 200, has: { 'x-after': 'outer' }, json: ['outer'] }),
  get('onion/inner/7', 'the outermost folder comes first', {
    status: 200,
    has: { 'x-after': 'first, outer' },
    json: ['outer', 'first', 'second', '7'],
  }),
  get('onion/inner/7?stop', 'may answer', {
    status: 403,
    has: { 'x-after': 'first, outer' },
    text: 'stopped',
  }),
  get('onion/inner/7?replace', 'may replace the response', {
    status: 299,
    has: { 'x-after': 'first, outer' },
    text: 'replaced',
  }),
  get('onion/inner/7?fail', 'sees the response of an error', {
    status: 418,
    has: { 'x-after': 'first, outer' },
    text: /failed inside/,
  }),
  get('onion/inner/7?throw', 'an error of it is a response outside', {
    status: 500,
    has: { 'x-after': 'first, outer' },
    text: /^(?!.*SECRET)/s,
  }),
  get('onion/inner/7?late', 'an error after next() replaces the response', {
    status: 500,
    has: { 'x-after': 'first, outer' },
  }),
  get('onion/inner/7?twice', 'next() twice is an error', { status: 500, has: { 'x-after': 'first, outer' } }),
  get('onion/nowhere', 'does not run for what is no route', { status: 404, has: { 'x-after': null } }),
])

/** A middleware of `router.use` that marks its way. */
function mark(name: string): Middleware {
  return async function marking(ctx, next) {
    ctx.state.trail = [...(ctx.state.trail as string[] | undefined ?? []), name]
    ctx.set.header(`x-before-${name}`, '1')
    const response = await next()
    response.headers.append('x-after', name)
    return response
  }
}

testCases(
  'router.use',
  defineSite({
    setup: (router) =>
      router.use(mark('a'), mark('b')).use('/onion', mark('c')).use('/users/[id]', mark('d')).use(
        '/late',
        async (ctx, next) => {
          await next()
          ctx.set.header('x-late', 'yes').header('content-type', 'text/late')
          return undefined
        },
      ).use('/nothing', () => {}).use('/text', (() => 'x') as unknown as Middleware)
        .use('/immutable', () => Response.redirect('https://example.org/'))
        .use('/twice', async (_ctx, next) => {
          await next()
          return await next()
        }),
  }),
  [
    get('onion', 'comes around the folders, in the order of the calls', {
      status: 200,
      has: { 'x-after': 'outer, c, b, a' },
      json: ['a', 'b', 'c', 'outer'],
    }),
    get('nowhere', 'runs for 404', { status: 404, has: { 'x-after': 'b, a', 'x-before-a': '1' } }),
    get('%zz', 'runs for 400', { status: 400, has: { 'x-after': 'b, a' } }),
    get('a'.repeat(9000), 'runs for 414', { status: 414, has: { 'x-after': 'b, a' } }),
    {
      name: 'runs for 405',
      request: 'DELETE /onion',
      status: 405,
      has: { 'x-after': 'c, b, a', allow: 'GET, HEAD, OPTIONS' },
    },
    { name: 'runs for OPTIONS', request: 'OPTIONS /onion', status: 204, has: { 'x-after': 'c, b, a' } },
    { name: 'runs for HEAD', request: 'HEAD /onion', status: 200, has: { 'x-after': 'outer, c, b, a' } },
    get('users/7', 'takes patterns', { status: 200, has: { 'x-after': 'd, b, a' } }),
    get('users/7/posts/8', 'takes what lies below a pattern', { status: 200, has: { 'x-after': 'd, b, a' } }),
    get('users', 'and no more', { status: 200, has: { 'x-after': 'b, a' } }),
    get('throw/sync', 'sees errors as responses', {
      status: 500,
      has: { 'x-after': 'b, a', 'x-before-b': '1' },
    }),
    get('send/native', 'puts headers on native responses', {
      status: 200,
      has: { 'x-before-a': '1', 'x-native': '1' },
    }),
    get('send/native-redirect', 'puts headers on immutable responses', {
      status: 301,
      has: { 'x-before-a': '1', 'x-after': 'b, a', location: 'https://example.org/' },
    }),
    get('send/fetched', 'puts headers on responses of fetch', {
      status: 200,
      has: { 'x-after': 'b, a' },
      text: 'fetched',
    }),
    get('immutable', 'may answer with an immutable response', {
      status: 302,
      has: { 'x-before-a': '1', 'x-after': 'b, a' },
    }),
    get('late', 'what is set after next() wins', {
      status: 404,
      has: { 'x-late': 'yes', 'content-type': 'text/late' },
    }),
    get('nothing', 'that neither answers nor calls next() is an error', {
      status: 500,
      has: { 'x-after': 'b, a' },
    }),
    get('text', 'that returns no Response is an error', { status: 500, has: { 'x-after': 'b, a' } }),
    get('twice', 'that calls next() twice is an error', { status: 500, has: { 'x-after': 'b, a' } }),
  ],
)

testSite(
  'an error of middleware names it for the listener',
  defineSite({
    setup: (router) => router.use('/nothing', function forgetful() {}),
  }),
  async ({ address, errors }) => {
    await exchange(address, toRequest('GET /nothing'))
    assertMatch(
      String(errors[0]),
      /middleware forgetful returned undefined, want a Response or a call of next\(\)/,
    )
  },
)

Deno.test('an error that nobody would see goes to stderr', async () => {
  const lines: string[] = []
  const { error } = console
  console.error = (...parts: unknown[]) => void lines.push(parts.map((part) => Deno.inspect(part)).join(' '))
  try {
    await using router = new Router({ routesDir: fixture('routes'), hotReload: false })
    router.on('route:error', () => {})
    await router.fetch(new Request('http://mayfly.test/throw/sync'))
    await router.fetch(new Request('http://mayfly.test/throw/http'))
    const stop = router.on('request:error', () => {})
    await router.fetch(new Request('http://mayfly.test/throw/async'))
    stop()
    router.catch(() => {})
    await router.fetch(new Request('http://mayfly.test/throw/async'))
    await router.fetch(new Request('http://mayfly.test/caught/throwing/boom'))
  } finally {
    console.error = error
  }
  assertEquals(lines.length, 2, lines.join('\n'))
  assertMatch(lines[0], /GET \/throw\/sync failed.*SECRET in a sync handler/s)
  assertMatch(
    lines[1],
    /an error handler failed on GET \/caught\/throwing\/boom.*SECRET in an error handler/s,
  )
})
