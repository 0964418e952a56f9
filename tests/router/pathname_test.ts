import { assert, assertEquals, assertStrictEquals } from '@std/assert'
import { compileGuard } from '../../src/router/match/guard.ts'
import { decodeRest, escapeLiteral, normalizePathname, pathnameOf } from '../../src/router/match/pathname.ts'
import { randomOf } from './random.ts'

const paths: [raw: string, normal: string | null][] = [
  ['/', '/'],
  ['/a/b', '/a/b'],
  ['/a/', '/a/'],
  ['//a', '//a'],
  ['/a/../admin', '/admin'],
  ['/a/./b', '/a/b'],
  ['/a/..', '/'],
  ['/../../x', '/x'],
  ['/%2e%2e/x', '/x'],
  ['/a/%2E./b', '/b'],
  ['/a/.%2e/b', '/b'],
  ['/a%2f..%2fb', '/a%2F..%2Fb'],
  ['/a/%252e%252e/b', '/a/%252e%252e/b'],
  ['\\a', '\\a'],
  ['/a\\..\\b', '/b'],
  ['/\\admin', '//admin'],
  ['/a%5Cb', '/a\\b'],
  ['/.well-known/x', '/.well-known/x'],
  ['/...', '/...'],
  ['/a.b/.c', '/a.b/.c'],
  ['/%61dmin', '/admin'],
  ['/caf%C3%A9', '/caf\u00e9'],
  ['/caf\u00e9', '/caf\u00e9'],
  ['/.x/caf\u00e9', '/.x/caf\u00e9'],
  ['/%2f', '/%2F'],
  ['/%252F', '/%252F'],
  ['/100%25', '/100%25'],
  ['/%zz', null],
  ['/%', null],
  ['/a%2', null],
  ['/%ff', null],
  ['/%C3', null],
  ['/./%zz', null],
  ['/%00', '/\0'],
  ['*', '*'],
]

for (const [raw, normal] of paths) {
  Deno.test(`normalizePathname turns ${JSON.stringify(raw)} into ${JSON.stringify(normal)}`, () => {
    assertEquals(normalizePathname(raw), normal)
  })
}

Deno.test('normalizePathname gives back the string itself where nothing is to do', () => {
  const path = '/users/1'
  assertStrictEquals(normalizePathname(path), path)
})

Deno.test('normalizePathname equals a segment-wise decode on random paths', () => {
  const random = randomOf(7)
  const pieces = ['a', 'b', '%2F', '%2f', '%25', '%61', '%C3%A9', '/', '%zz', '2F', '5', '%', '.']
  for (let round = 0; round < 20_000; round++) {
    let raw = '/x'
    for (let count = random.below(6); count > 0; count--) raw += random.pick(pieces)
    if (/\/\./.test(raw)) continue
    let decoded: string[] | null
    try {
      decoded = raw.split('/').map(decodeURIComponent)
    } catch {
      decoded = null
    }
    const normal = normalizePathname(raw)
    assertEquals(normal === null ? null : normal.split('/').map(decodeRest), decoded, raw)
    if (decoded !== null) {
      assertEquals(normal, decoded.map((text) => escapeLiteral(text).replaceAll('/', '%2F')).join('/'), raw)
    }
  }
})

const urls: [url: string, path: string][] = [
  ['http://host/a/b?c=/d', '/a/b'],
  ['http://host:1', '/'],
  ['http://host/a#b', '/a'],
  ['http://host/a#b?c', '/a'],
  ['http://host/a?b#c', '/a'],
  ['https://[::1]:1/x/../y', '/x/../y'],
  ['http://host//a', '//a'],
  ['http+unix://host/a', '/a'],
]

for (const [url, path] of urls) {
  Deno.test(`pathnameOf cuts ${path} out of ${url}`, () => assertEquals(pathnameOf(url), path))
}

const guarded: [pattern: string, path: string, guarded: boolean][] = [
  ['/admin', '/admin', true],
  ['/admin', '/admin/', true],
  ['/admin', '/admin/x/y', true],
  ['/admin/', '/admin', true],
  ['/admin/**', '/admin', true],
  ['/admin/**', '/admin/', true],
  ['/admin/*', '/admin/x', true],
  ['/admin', '/administrator', false],
  ['/admin', '/ADMIN', false],
  ['/admin', '/', false],
  ['/admin', '/x/admin', false],
  ['/admin', '//admin', true],
  ['/admin', '/admin//x', true],
  ['/admin', '/%61dmin', true],
  ['/admin', '/x/../admin', true],
  ['/admin', '/x/%2e%2e/admin', true],
  ['/admin', '/x\\..\\admin', true],
  ['/admin', '/\\admin', true],
  ['/admin', '/./admin', true],
  ['/admin', '/admin%2Fx', false],
  ['/admin', '/admin/../public', false],
  ['/', '/', true],
  ['/', '/x', true],
  ['/**', '/x', true],
  ['/a/b', '/a', false],
  ['/a/b', '/a/b/c', true],
  ['/caf%C3%A9', '/caf\u00e9', true],
  ['/caf\u00e9', '/caf%C3%A9/x', true],
  ['/100%25', '/100%25', true],
  ['/users/[id]/keys', '/users/1/keys', true],
  ['/users/[id]/keys', '/users/1/keys/2', true],
  ['/users/[id]/keys', '/users/1', false],
  ['/users/[id]', '/users', false],
  ['/users/[id]', '/users/', false],
  ['/v[n]/x', '/v1/x', true],
  ['/v[n]/x', '/v/x', false],
]

for (const [pattern, path, expected] of guarded) {
  Deno.test(`compileGuard ${pattern} ${expected ? 'guards' : 'leaves'} ${path}`, () => {
    assertEquals(compileGuard(pattern)(normalizePathname(path)!), expected)
  })
}

Deno.test('compileGuard refuses what could never guard', () => {
  const refused = [
    'admin',
    '',
    '*',
    '/a*',
    '/**/a',
    '/:id',
    '/a//b',
    '/%zz',
    '/a%2Fb',
    '/[...rest]',
    '/[[id]]',
    '/../a',
  ]
  for (const pattern of refused) {
    let message = ''
    try {
      compileGuard(pattern)
    } catch (error) {
      assert(error instanceof TypeError)
      message = error.message
    }
    assert(message.startsWith(`compile guard: '${pattern}', wanted`), `${pattern}: ${message}`)
  }
})
