import { assertEquals } from '@std/assert'
import { findHints } from '../../src/isolate/hints/request_hints.ts'

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

const takenApart: [source: string, names: string[]][] = [
  ["const { a, b: c, 'd': e, f = 'x', ...rest } = ctx.get.query()", ['a', 'b', 'd', 'f']],
  ["const [w, h] = ['width', 'height'].map((name) => Number(ctx.get.query(name)))", ['width', 'height']],
  ['({ query }) => query.done === 1 && req.query.page && query.toString()', ['done', 'page']],
  ['const all = ctx.get.query()', []],
  ['const { a, b = 1 } = getQuery(event); f(getQuery(event).times ?? 1)', ['a', 'b', 'times']],
]
for (const [source, names] of takenApart) {
  Deno.test(`query parameters that are taken apart: ${source}`, () => {
    assertEquals(findHints(source).query, names)
  })
}

Deno.test('a name tells what its parameter holds, whatever the parameter went through', () => {
  const source = `const TEXTS = { en: 'a', de: 'b' }
    const { rate, years, theme = 'light', lang } = ctx.get.query()
    f(new Decimal(rate), Number(years), TEXTS[lang], theme === 'dark')`
  const { parameters } = findHints(source)
  assertEquals(['rate', 'years'].map((name) => parameters.get(name)?.format), ['number', 'number'])
  assertEquals(['lang', 'theme'].map((name) => parameters.get(name)?.literals), [['en', 'de'], [
    'light',
    'dark',
  ]])
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
