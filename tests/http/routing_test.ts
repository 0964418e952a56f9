import { assertEquals } from '@std/assert'
import { type Case, testCases, testSite } from './cases.ts'
import { log } from './fixture/log.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const site = defineSite()

/** A case for GET: the file that answers and its parameters, or the status of a refusal. */
function get(target: string, wanted: string | number, params: Record<string, string> = {}): Case {
  const shown = target.length > 60 ? `${target.slice(0, 60)}... (${target.length})` : target
  if (typeof wanted === 'number') {
    return { name: `GET ${shown} is ${wanted}`, request: `GET ${target}`, status: wanted }
  }
  const json = { file: wanted, params }
  return { name: `GET ${shown} goes to ${wanted}`, request: `GET ${target}`, status: 200, json }
}

testCases('patterns', site, [
  get('/', 'index.ts'),
  get('/index', 404),
  get('/index/nested', 'index/nested.ts'),
  get('/methods', 'methods.ts'),
  get('/nowhere', 404),
  get('/METHODS', 404),
  get('/methods/more', 404),
  get('/users', 'users/index.ts'),
  get('/users/index', 'users/[id].ts', { id: 'index' }),
  get('/users/me', 'users/me.ts'),
  get('/users/7', 'users/[id].ts', { id: '7' }),
  get('/users/user-ann', 'users/user-[name].ts', { name: 'ann' }),
  get('/users/user-', 'users/[id].ts', { id: 'user-' }),
  get('/users/7/posts/8', 'users/[id]/posts/[post].ts', { id: '7', post: '8' }),
  get('/users/me/posts/8', 'users/[id]/posts/[post].ts', { id: 'me', post: '8' }),
  get('/users/7/posts', 404),
  get('/files/a.json', 'files/[name].json.ts', { name: 'a' }),
  get('/files/.json', 'files/[name].ts', { name: '.json' }),
  get('/files/a.txt', 'files/[name].ts', { name: 'a.txt' }),
  get('/docs', 404),
  get('/docs/intro', 'docs/intro.ts'),
  get('/docs/intro/more', 'docs/[...rest].ts', { rest: 'intro/more' }),
  get('/docs/a/b%20c/d', 'docs/[...rest].ts', { rest: 'a/b c/d' }),
  get('/lang', 'lang/[[lang]].ts'),
  get('/lang/de', 'lang/[[lang]].ts', { lang: 'de' }),
  get('/lang/about', 'lang/[[lang]]/about.ts'),
  get('/lang/de/about', 'lang/[[lang]]/about.ts', { lang: 'de' }),
  get('/lang/de/imprint', 404),
  get('/opt', 'opt/[[...rest]].ts'),
  get('/opt/a/b', 'opt/[[...rest]].ts', { rest: 'a/b' }),
  get('/grouped', '(group)/grouped.ts'),
  get('/(group)/grouped', 404),
  get('/deep', '(group)/(inner)/deep.ts'),
  get('/back/b/y', 'back/b/y.ts'),
  get('/back/b/x', 'back/[a]/x.ts', { a: 'b' }),
  get('/back/c/y', 404),
  get('/fall/literal', 'fall/[any].ts', { any: 'literal' }),
])

testCases('slashes', site, [
  get('/methods/', 'methods.ts'),
  get('/users/', 'users/index.ts'),
  get('/users/7/', 'users/[id].ts', { id: '7' }),
  get('/docs/a/', 'docs/[...rest].ts', { rest: 'a' }),
  get('//', 404),
  get('//methods', 404),
  get('/methods//', 404),
  get('/users//7', 404),
  get('/users//', 404),
  get('/docs/a//b', 404),
  get('/lang//about', 404),
  get('/users/a%2Fb', 'users/[id].ts', { id: 'a/b' }),
  get('/users/a%2fb', 'users/[id].ts', { id: 'a/b' }),
  get('/users%2F7', 404),
  get('/%2Fmethods', 404),
  get('/methods%2F', 404),
  get('/docs/a%2Fb/c', 'docs/[...rest].ts', { rest: 'a/b/c' }),
])

testCases('dots and backslashes', site, [
  get('/users/../methods', 'methods.ts'),
  get('/./methods', 'methods.ts'),
  get('/users/./me', 'users/me.ts'),
  get('/users/%2e%2e/methods', 'methods.ts'),
  get('/users/%2E%2e/methods', 'methods.ts'),
  get('/users/.%2e/methods', 'methods.ts'),
  get('/users/%2e/me', 'users/me.ts'),
  get('/../../../methods', 'methods.ts'),
  get('/users/7/..', 'users/index.ts'),
  get('/users/...', 'users/[id].ts', { id: '...' }),
  get('/users/..%2Fmethods', 'users/[id].ts', { id: '../methods' }),
  get('/users/%252e%252e', 'users/[id].ts', { id: '%2e%2e' }),
  get('/users\\me', 'users/me.ts'),
  get('/users\\..\\methods', 'methods.ts'),
  get('/\\users\\me', 404),
  get('//x/../methods', 404),
  get('//a%20b//c%65', 404),
  get('//[/./', 404),
  get('/\\@:/../', 404),
  get('/users/%5Cme', 'users/[id].ts', { id: '\\me' }),
])

testCases('escapes', site, [
  get('/%6dethods', 'methods.ts'),
  get('/%6Dethods', 'methods.ts'),
  get('/users/%6de', 'users/me.ts'),
  get('/odd/with%20space', 'odd/with space.ts'),
  get('/odd/with+space', 'odd/[constructor].ts', { constructor: 'with+space' }),
  get('/odd/%C3%BCn%C3%AF', 'odd/ünï.ts'),
  get('/odd/100%25', 'odd/100%.ts'),
  get('/odd/100%2525', 'odd/[constructor].ts', { constructor: '100%25' }),
  get('/odd/a+b', 'odd/a+b.ts'),
  get('/odd/a%2Bb', 'odd/a+b.ts'),
  get('/odd/__proto__', 'odd/[constructor].ts', { constructor: '__proto__' }),
  get('/users/__proto__', 'users/[id].ts', { id: '__proto__' }),
  get('/users/%E2%82%AC', 'users/[id].ts', { id: '€' }),
  get('/users/%F0%9F%A6%8B', 'users/[id].ts', { id: '🦋' }),
  get('/users/%2541', 'users/[id].ts', { id: '%41' }),
  get('/users/a%3Fb%23c', 'users/[id].ts', { id: 'a?b#c' }),
  get('/users/a;b=c,d', 'users/[id].ts', { id: 'a;b=c,d' }),
  get('/users/%00', 'users/[id].ts', { id: '\0' }),
  get('/users/%zz', 400),
  get('/users/%', 400),
  get('/users/%4', 400),
  get('/%zz', 400),
  get('/nowhere/%zz', 400),
  get('/users/%C3', 400),
  get('/users/%E2%82', 400),
  get('/users/%FF', 400),
  get('/users/%C0%AF', 400),
  get('/users/%ED%A0%80', 400),
  get('/docs/a/%zz', 400),
])

testCases('lengths', site, [
  get(`/users/${'a'.repeat(1024)}`, 'users/[id].ts', { id: 'a'.repeat(1024) }),
  get(`/users/${'a'.repeat(1025)}`, 414),
  get(`/users/${'%41'.repeat(1024)}`, 'users/[id].ts', { id: 'A'.repeat(1024) }),
  get(`/docs/${'a/'.repeat(511)}aa`, 'docs/[...rest].ts', { rest: `${'a/'.repeat(511)}aa` }),
  get(`/docs/${'a/'.repeat(512)}aa`, 414),
  get(`/methods?${'a'.repeat(8192 - 'http://mayfly.test/methods?'.length)}`, 'methods.ts'),
  get(`/methods?${'a'.repeat(8193 - 'http://mayfly.test/methods?'.length)}`, 414),
  get(`/nowhere/${'a'.repeat(9000)}`, 414),
])

testCases('methods', site, [
  {
    name: 'an unknown method on a known path is 405 with a sorted Allow',
    request: 'PUT /methods',
    status: 405,
    has: { allow: 'DELETE, GET, HEAD, OPTIONS, POST' },
  },
  {
    name: 'PUT alone allows PUT and OPTIONS',
    request: 'GET /put_only',
    status: 405,
    has: { allow: 'OPTIONS, PUT' },
  },
  { name: 'HEAD is no GET where there is none', request: 'HEAD /put_only', status: 405, text: '' },
  {
    name: 'Allow gathers the methods of every pattern that matches',
    request: 'PATCH /fall/literal',
    status: 405,
    has: { allow: 'DELETE, GET, HEAD, OPTIONS, POST, PUT' },
  },
  {
    name: 'the best pattern that has the method wins',
    request: 'PUT /fall/literal',
    status: 200,
    text: /rest/,
  },
  { name: 'a literal with the method wins', request: 'POST /fall/literal', status: 200, text: /literal\.ts/ },
  { name: 'a method in small letters is another method', raw: low('get'), status: 405 },
  { name: 'an invented method is 405', request: 'BREW /methods', status: 405, has: { allow: /DELETE/ } },
  { name: 'an invented method on no path is 404', request: 'BREW /nowhere', status: 404 },
  {
    name: 'OPTIONS is 204 with Allow',
    request: 'OPTIONS /users/7',
    status: 204,
    has: { allow: 'GET, HEAD, OPTIONS, PATCH', 'content-length': null },
    text: '',
  },
  { name: 'OPTIONS on no path is 404', request: 'OPTIONS /nowhere', status: 404, has: { allow: null } },
  {
    name: 'an exported OPTIONS answers itself',
    request: 'OPTIONS /options',
    status: 200,
    text: 'my own OPTIONS',
  },
  {
    name: 'an exported OPTIONS shows in Allow',
    request: 'POST /options',
    status: 405,
    has: { allow: 'GET, HEAD, OPTIONS' },
  },
  {
    name: 'HEAD has the headers of GET and no body',
    request: 'HEAD /users/7',
    status: 200,
    has: { 'content-type': 'application/json', 'content-length': '44' },
    text: '',
  },
  {
    name: 'HEAD stays HEAD in the context',
    request: 'HEAD /head_method',
    status: 200,
    has: { 'x-method': 'HEAD' },
  },
  {
    name: 'an exported HEAD answers HEAD',
    request: 'HEAD /head',
    status: 200,
    has: { 'x-from': 'HEAD' },
    text: '',
  },
  { name: 'an exported HEAD leaves GET alone', request: 'GET /head', status: 200, has: { 'x-from': 'GET' } },
  { name: 'HEAD of an error has its status and no body', request: 'HEAD /nowhere', status: 404, text: '' },
])

testCases('what is no route', site, [
  get('/_hidden', 404),
  get('/_private/page', 404),
  get('/@parts/page', 404),
  get('/@hidden', 404),
  get('/.secret/page', 404),
  get('/.hidden', 404),
  get('/_middleware', 404),
  get('/_error', 404),
])

testCases('the URL in the context', site, [
  {
    name: 'query values, the last of a name that repeats',
    request: 'GET /url?a=1&b=%20x+y&a=2',
    status: 200,
    json: {
      method: 'GET',
      url: 'http://mayfly.test/url?a=1&b=%20x+y&a=2',
      pathname: '/url',
      query: { a: '2', b: ' x y' },
      a: '2',
      as: ['1', '2'],
    },
  },
  {
    name: '__proto__ as a query name is a name like any other',
    request: 'GET /url?__proto__=x&__proto__[polluted]=1&constructor=y',
    status: 200,
    text: /"query":\{"__proto__":"x","__proto__\[polluted\]":"1","constructor":"y"\},"as":\[\],"proto":"x"\}/,
  },
  {
    name: 'a malformed escape in the query is not an error',
    request: 'GET /url?a=%zz',
    status: 200,
    text: /"a":"%zz"/,
  },
  { name: 'a question mark in the query', request: 'GET /url?a=b?c', status: 200, text: /"a":"b\?c"/ },
])

testSite('a parameter named __proto__ is a parameter', site, async ({ address }) => {
  const [response] = await exchange(address, toRequest('GET /proto/x'))
  assertEquals(response.text, '{"file":"proto/[__proto__].ts","params":{"__proto__":"x"}}')
})

testSite('GET and HEAD agree on every header', site, async ({ address }) => {
  for (const path of ['/', '/users/7', '/options', '/nowhere', '/put_only', '/users/%zz']) {
    const [get] = await exchange(address, toRequest(`GET ${path}`))
    const [head] = await exchange(address, toRequest(`HEAD ${path}`), { method: 'HEAD' })
    const names = (headers: ReadonlyMap<string, readonly string[]>) =>
      [...headers].filter(([name]) => name !== 'date').map(([name, values]) => `${name}: ${values}`).sort()
    assertEquals(head.status, get.status, path)
    assertEquals(names(head.headers), names(get.headers), path)
    assertEquals(head.text, '')
  }
})

testSite('files that are no routes are never imported', site, async () => {
  await Promise.resolve()
  assertEquals(log.filter((entry) => entry.startsWith('imported')), [])
})

function low(method: string): string {
  return `${method} /methods HTTP/1.1\r\nHost: mayfly.test\r\nConnection: close\r\n\r\n`
}
