import { assert, assertEquals, assertStrictEquals, assertThrows } from '@std/assert'
import { allowedMethods, match } from '../../src/router/match/match.ts'
import { normalizePathname } from '../../src/router/match/pathname.ts'
import { expandOptional, parsePattern, shapeOf } from '../../src/router/match/pattern.ts'
import {
  createTree,
  FOUND,
  insert,
  insertMount,
  NO_PARAMS,
  type Node,
  type Tree,
} from '../../src/router/match/tree.ts'
import { oracleAllowed, oracleMatch, type OracleRoute } from './oracle.ts'
import { formatTree } from './printed.ts'
import { type Random, randomOf } from './random.ts'

function treeOf(patterns: readonly string[], methods = ['GET']): Tree<string> {
  const tree = createTree<string>()
  for (const pattern of patterns) for (const method of methods) insert(tree, pattern, method, pattern)
  return tree
}

const everyKind = treeOf([
  '/',
  '/users',
  '/users/new',
  '/users/[id]',
  '/users/user-[id]',
  '/users/[id].json',
  '/users/user-[id].json',
  '/users/[...rest]',
  '/users/[id]/posts/[post]',
  '/files/[...rest]',
  '/[[lang]]/about',
  '/100%',
  '/caf\u00e9/[x]',
  '/[any]/deep',
])

const found: [path: string, pattern: string, params: Record<string, string>][] = [
  ['/', '/', {}],
  ['/users', '/users', {}],
  ['/users/', '/users', {}],
  ['/users/new', '/users/new', {}],
  ['/users/new/', '/users/new', {}],
  ['/users/n%65w', '/users/new', {}],
  ['/users/7', '/users/[id]', { id: '7' }],
  ['/users/7/', '/users/[id]', { id: '7' }],
  ['/users/a%2Fb', '/users/[id]', { id: 'a/b' }],
  ['/users/a%2fb', '/users/[id]', { id: 'a/b' }],
  ['/users/%2525', '/users/[id]', { id: '%25' }],
  ['/users/%252F', '/users/[id]', { id: '%2F' }],
  ['/users/caf%C3%A9', '/users/[id]', { id: 'caf\u00e9' }],
  ['/users/user-7', '/users/user-[id]', { id: '7' }],
  ['/users/user-', '/users/[id]', { id: 'user-' }],
  ['/users/7.json', '/users/[id].json', { id: '7' }],
  ['/users/user-7.json', '/users/user-[id].json', { id: '7' }],
  ['/users/.json', '/users/[id]', { id: '.json' }],
  ['/users/7/posts/9', '/users/[id]/posts/[post]', { id: '7', post: '9' }],
  ['/users/7/posts', '/users/[...rest]', { rest: '7/posts' }],
  ['/users/new/posts', '/users/[...rest]', { rest: 'new/posts' }],
  ['/files/a/b%2Fc/%C3%A9/', '/files/[...rest]', { rest: 'a/b/c/\u00e9' }],
  ['/about', '/[[lang]]/about', {}],
  ['/de/about', '/[[lang]]/about', { lang: 'de' }],
  ['/100%25', '/100%', {}],
  ['/caf%C3%A9/1', '/caf\u00e9/[x]', { x: '1' }],
  ['/users/deep', '/users/[id]', { id: 'deep' }],
  ['/x/deep', '/[any]/deep', { any: 'x' }],
]

for (const [path, pattern, params] of found) {
  Deno.test(`match takes ${path} to ${pattern}`, () => {
    const result = match(everyKind, path, 'GET')
    assertEquals([result.outcome, result.value, result.pattern, { ...result.params }], [
      200,
      pattern,
      pattern,
      params,
    ])
    assertEquals(Object.getPrototypeOf(result.params), null)
  })
}

const missed: [path: string, outcome: number][] = [
  ['/nothing', 404],
  ['//', 404],
  ['//users', 404],
  ['/users//', 404],
  ['/users//new', 404],
  ['/files//a', 404],
  ['/files', 404],
  ['/files/', 404],
  ['/Users', 404],
  ['/users/..%2Fnew/x/', 200],
  ['/%zz', 400],
  ['/users/%zz', 400],
  ['/nothing/%', 400],
  ['/users/%FF', 400],
  ['', 404],
  ['*', 404],
  ['users', 404],
]

for (const [path, outcome] of missed) {
  Deno.test(`match answers ${path === '' ? 'an empty path' : path} by ${outcome}`, () => {
    assertEquals(match(everyKind, path, 'GET').outcome, outcome)
  })
}

Deno.test('match goes on to a less specific pattern for a method', () => {
  const tree = createTree<string>()
  insert(tree, '/users/new', 'GET', 'form')
  insert(tree, '/users/[id]', 'PUT', 'put')
  insert(tree, '/users/[...rest]', 'DELETE', 'delete')
  assertEquals(match(tree, '/users/new', 'GET').value, 'form')
  assertEquals(match(tree, '/users/new', 'HEAD').value, 'form')
  assertEquals(match(tree, '/users/new', 'PUT').value, 'put')
  assertEquals(match(tree, '/users/new', 'DELETE').value, 'delete')
  assertEquals(match(tree, '/users/new', 'POST').outcome, 405)
  assertEquals(match(tree, '/users', 'GET').outcome, 404)
  assertEquals(allowedMethods(tree, '/users/new'), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT'])
  assertEquals(allowedMethods(tree, '/users/x'), ['DELETE', 'OPTIONS', 'PUT'])
  assertEquals(allowedMethods(tree, '/users'), [])
  assertEquals(allowedMethods(tree, '/%zz'), [])
})

Deno.test('match prefers an exported HEAD to GET, and GET of the same pattern to HEAD of a lesser one', () => {
  const tree = createTree<string>()
  insert(tree, '/a', 'HEAD', 'head')
  insert(tree, '/a', 'GET', 'get')
  insert(tree, '/b', 'GET', 'get')
  insert(tree, '/[x]', 'HEAD', 'lesser')
  assertEquals(match(tree, '/a', 'HEAD').value, 'head')
  assertEquals(match(tree, '/b', 'HEAD').value, 'get')
  assertEquals(match(tree, '/c', 'HEAD').value, 'lesser')
})

Deno.test('insertMount takes its path and all below, behind everything more specific', () => {
  const tree = createTree<string>()
  insertMount(tree, '/api', 'app')
  insert(tree, '/api/[id]', 'GET', 'id')
  insert(tree, '/api', 'GET', 'index')
  assertEquals(match(tree, '/api', 'GET').value, 'index')
  assertEquals(match(tree, '/api', 'POST').value, 'app')
  assertEquals(match(tree, '/api/1', 'GET').value, 'id')
  assertEquals(match(tree, '/api/1', 'PROPFIND').value, 'app')
  assertEquals(match(tree, '/api/1/2', 'GET'), {
    outcome: 200,
    value: 'app',
    params: NO_PARAMS,
    pattern: '/api',
  })
  assertEquals(match(tree, '/apis', 'GET').outcome, 404)
  const root = createTree<string>()
  insertMount(root, '/', 'root')
  assertEquals(match(root, '/', 'GET').value, 'root')
  assertEquals(match(root, '/x/y', 'GET').value, 'root')
})

Deno.test('match answers 414 for a decoded parameter over the limit, no sooner', () => {
  const tree = createTree<string>({ maxParamLength: 4 })
  insert(tree, '/p/[id]', 'GET', 'p')
  insert(tree, '/c/[...rest]', 'GET', 'c')
  insert(tree, '/literal-is-free/[id]', 'GET', 'l')
  assertEquals(match(tree, '/p/1234', 'GET').outcome, 200)
  assertEquals(match(tree, '/p/12345', 'GET').outcome, 414)
  assertEquals(match(tree, '/p/%C3%A9%C3%A9%C3%A9%C3%A9', 'GET').outcome, 200)
  assertEquals(match(tree, '/p/12345', 'POST').outcome, 405)
  assertEquals(match(tree, '/c/1/23', 'GET').outcome, 200)
  assertEquals(match(tree, '/c/12/34', 'GET').outcome, 414)
  assertEquals(match(tree, '/literal-is-free/1', 'GET').outcome, 200)
})

Deno.test('match keeps parameters named after Object.prototype as plain text', () => {
  const tree = createTree<string>()
  insert(tree, '/[__proto__]/[constructor]', 'GET', 'x')
  const { params } = match(tree, '/a/b', 'GET')
  assertEquals(Object.keys(params), ['__proto__', 'constructor'])
  assertEquals(params.__proto__, 'a')
  assertEquals(params.toString, undefined)
})

Deno.test('match gives the same frozen result for a path without parameters', () => {
  const result = match(everyKind, '/users', 'GET')
  assertStrictEquals(match(everyKind, '/users', 'GET'), result)
  assertStrictEquals(result.params, NO_PARAMS)
  assert(Object.isFrozen(NO_PARAMS))
})

Deno.test('match gives objects of one shape for every outcome', () => {
  const results = ['/users', '/users/1', '/nothing', '/%zz'].map((path) => match(everyKind, path, 'GET'))
  for (const result of results) assertEquals(Object.keys(result), ['outcome', 'value', 'params', 'pattern'])
})

Deno.test('insert refuses a taken place', () => {
  const tree = treeOf(['/[a]', '/x', '/y/[...rest]'])
  assertThrows(() => insert(tree, '/[a]', 'GET', ''), TypeError, `'/[a]', wanted GET once`)
  assertThrows(() => insert(tree, '/[b]', 'PUT', ''), TypeError, `other paths than those of '/[a]'`)
  assertThrows(() => insert(tree, '/[[x]]', 'PUT', ''), TypeError, `other paths than those of '/[a]'`)
  assertThrows(() => insertMount(tree, '/y', ''), TypeError, `other paths than those of '/y/[...rest]'`)
  assertThrows(() => insert(tree, '/[a', 'PUT', ''), SyntaxError)
})

Deno.test('formatTree prints the order of precedence, in the normal form', () => {
  assertEquals(
    formatTree(everyKind),
    `/ GET
/100%25 GET
/about GET
/users GET
/users/new GET
/caf\u00e9
  /[] (x) GET
/files
  /[...] (rest) GET
/users
  /user-[].json (id) GET
  /user-[] (id) GET
  /[].json (id) GET
  /[] (id) GET
    /posts
      /[] (id, post) GET
  /[...] (rest) GET
/[]
  /about (lang) GET
  /deep (any) GET
`,
  )
})

const SEGMENTS = [
  'a',
  'b',
  '%',
  'a5',
  '[p]',
  '[q]',
  '[[o]]',
  'a[m]',
  '[m]5',
  'a[m]5',
  'ab[m]',
  '[m]b',
  '[m]25',
  '%[m]',
  '[m]F',
]
const PATH_PIECES = ['a', 'b', '5', '25', 'F', '%25', '%2F', '%2f', '%61', '/', '/', '/', '%zz', '//']

function randomRoutes(random: Random): OracleRoute[] {
  const routes: OracleRoute[] = []
  const taken = new Set<string>()
  for (let count = 1 + random.below(12); count > 0; count--) {
    const parts: string[] = []
    for (let depth = random.below(4); depth > 0; depth--) parts.push(random.pick(SEGMENTS))
    if (random.below(4) === 0) parts.push(random.pick(['[...rest]', '[[...rest]]']))
    const text = '/' + parts.map((part, index) => part.replace(/\[(o|m|p|q)\]/, `[$1${index}]`)).join('/')
    const shapes = expandOptional(parsePattern(text)).map(shapeOf)
    if (shapes.some((shape) => taken.has(shape))) continue
    for (const shape of shapes) taken.add(shape)
    const methods = ['GET', 'POST', 'HEAD', '*'].filter(() => random.below(3) === 0)
    routes.push({ pattern: text, methods: methods.length === 0 ? ['GET'] : methods })
  }
  return routes
}

Deno.test('match and allowedMethods agree with a linear scan on random patterns and paths', () => {
  const random = randomOf(20_260)
  const outcomes = new Map<number, number>()
  for (let round = 0; round < 3000; round++) {
    const routes = randomRoutes(random)
    const tree = createTree<string>({ maxParamLength: 6 })
    for (const { pattern, methods } of routes) {
      for (const method of methods) insert(tree, pattern, method, pattern)
    }
    for (let tries = 0; tries < 25; tries++) {
      let path = '/'
      for (let count = random.below(8); count > 0; count--) path += random.pick(PATH_PIECES)
      const method = random.pick(['GET', 'POST', 'HEAD', 'PATCH'])
      const expected = oracleMatch(routes, path, method, 6)
      const result = match(tree, path, method)
      const context = `${method} ${path} in ${JSON.stringify(routes)}`
      assertEquals(
        { outcome: result.outcome, pattern: result.pattern, params: { ...result.params } },
        expected as unknown as { outcome: 200; pattern: string; params: Record<string, string> },
        context,
      )
      if (result.outcome === FOUND) assertEquals(result.value, result.pattern, context)
      assertEquals(allowedMethods(tree, path), oracleAllowed(routes, path), context)
      const normal = normalizePathname(path)
      if (normal !== null && path.indexOf('/.') === -1) {
        assertEquals(match(tree, normal, method), result, `normal form: ${context}`)
      }
      outcomes.set(result.outcome, (outcomes.get(result.outcome) ?? 0) + 1)
    }
  }
  for (const outcome of [200, 400, 404, 405, 414]) {
    assert((outcomes.get(outcome) ?? 0) > 100, `outcome ${outcome} came ${outcomes.get(outcome)} times`)
  }
})

/** Puts a counter before every Map lookup of the tree; gives the count and resets it. */
function countLookups<T>(tree: Tree<T>): () => number {
  let lookups = 0
  const watch = <V>(map: Map<string, V>) => {
    const get = map.get.bind(map)
    map.get = (key) => {
      lookups++
      return get(key)
    }
  }
  const visit = (node: Node<T>) => {
    const groups = (node.mixed ?? []).map((group) => group.byText)
    for (const map of [node.literals ?? new Map<string, Node<T>>(), ...groups]) {
      watch(map)
      for (const child of map.values()) visit(child)
    }
    if (node.parameter !== null) visit(node.parameter)
  }
  watch(tree.statics)
  visit(tree.root)
  return () => {
    const count = lookups
    lookups = 0
    return count
  }
}

Deno.test('match needs as many lookups among 10 000 routes as among 10', () => {
  const count = (routes: number) => {
    const tree = createTree<number>()
    for (let index = 0; index < routes / 5; index++) {
      insert(tree, `/page${index}/fixed`, 'GET', 0)
      insert(tree, `/page${index}/[id]`, 'GET', 1)
      insert(tree, `/page${index}/[id]/edit`, 'GET', 2)
      insert(tree, `/list/item${String(index).padStart(4, '0')}-[id]`, 'GET', 3)
      insert(tree, `/page${index}/files/[...rest]`, 'GET', 4)
    }
    const lookups = countLookups(tree)
    return ['/page1/fixed', '/page1/7', '/page1/7/edit', '/list/item0001-7', '/page1/files/a/b', '/none/x/y']
      .map(
        (path, index) => {
          assertEquals(match(tree, path, 'GET').value, index < 5 ? index : undefined)
          return lookups()
        },
      )
  }
  assertEquals(count(10_000), count(10))
  assertEquals(count(10)[0], 1)
})

Deno.test('match visits each node once at most, whatever the pattern set', () => {
  // Every mix of literal and parameter over 10 segments, none with the end that the path has.
  const tree = createTree<number>()
  const depth = 10
  for (let bits = 0; bits < 2 ** depth; bits++) {
    const parts = Array.from({ length: depth }, (_, index) => bits >> index & 1 ? 'a' : `[p${index}]`)
    insert(tree, `/${parts.join('/')}/end`, 'GET', bits)
  }
  const lookups = countLookups(tree)
  assertEquals(match(tree, '/a'.repeat(depth) + '/none', 'GET').outcome, 404)
  // Nodes with literal children: 2^0 + ... + 2^10 of them, and the lookup of the whole path twice.
  assert(lookups() <= 2 ** (depth + 1) + 2)
})

Deno.test('match does not grow with the length of a path that fits no pattern', () => {
  const tree = treeOf(['/[a]/[b]/[c]/x', '/a/[...rest]', '/a[m]/a[n]/[...rest]', '/[[o]]/[[p]]/[[q]]/y'], [
    'POST',
  ])
  const lookups = countLookups(tree)
  match(tree, '/a/a/a/z', 'GET')
  const short = lookups()
  assertEquals(match(tree, '/a'.repeat(4000), 'GET').outcome, 405)
  assert(lookups() <= short)
})
