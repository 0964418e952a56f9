import { assertEquals } from '@std/assert'
import { findHints } from '../../src/isolate/warm/request_hints.ts'

const queries: [source: string, names: string[]][] = [
  ['', []],
  ["ctx.get.query('name'); get.query(\"q\"); c.req.query(`page`); ctx.get.queries('tag')", [
    'name',
    'q',
    'page',
    'tag',
  ]],
  ["url.searchParams.get('a'), searchParams . has( 'b' ), searchParams.getAll('c[]')", ['a', 'b', 'c[]']],
  ["ctx.get.query('a'); ctx.get.query('a')", ['a']],
  ['ctx.get.query(); ctx.get.query(name); jquery("a"); ctx.get.query(`${a}`)', []],
  ["ctx.get.header('a'); map.get('b')", []],
  [`ctx.get.query('${'x'.repeat(65)}')`, []],
]
for (const [source, names] of queries) {
  Deno.test(`query parameters of: ${source.slice(0, 60)}`, () => assertEquals(findHints(source).query, names))
}

Deno.test('query parameters are 16 at most', () => {
  const source = Array.from({ length: 20 }, (_, i) => `query('n${i}')`).join()
  assertEquals(findHints(source).query.length, 16)
})

Deno.test('a form is for who reads a body of any kind', () => {
  const takesForms = (source: string) => findHints(source).form
  assertEquals(['await ctx.get.body()', 'get.formData()', 'c.req.parseBody()'].map(takesForms), [
    true,
    true,
    true,
  ])
  assertEquals(['await ctx.get.json()', 'ctx.body', 'everybody()'].map(takesForms), [false, false, false])
})

Deno.test('routes of an app are those whose path stands there, each once, 16 at most', () => {
  const routes = (source: string) => findHints(source).routes.map(({ method, path }) => `${method} ${path}`)
  assertEquals(
    routes(
      `app.get('/', a).post("/users/:id", b)\nrouter .put( \`/c\`, c); app.all('/any', d); app.get('/', a)`,
    ),
    ['GET /', 'POST /users/:id', 'PUT /c', 'null /any'],
  )
  assertEquals(routes("map.get('a'); app.get('/a' + b); app.get(`/${a}`); target('/a')"), ['GET /a'])
  assertEquals(routes(Array.from({ length: 20 }, (_, i) => `app.get('/${i}')`).join()).length, 16)
})
