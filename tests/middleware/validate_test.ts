// deno-lint-ignore-file no-import-prefix -- only these tests use the three libraries
import {
  type Middleware,
  type StandardSchema,
  validate,
  type Validated,
  type ValidateOptions,
} from '@mayfly/mayfly'
import { assert, assertEquals } from '@std/assert'
import { type } from 'npm:arktype@2.2.9'
import * as v from 'npm:valibot@1.5.0'
import { z } from 'npm:zod@4.6.7'
import { issuePath } from '../../src/middleware/standard_schema.ts'
import { answer, assertRefused, makeSite, statusOf } from './site.ts'

const show: Middleware = answer((ctx) => ctx.get.validated())

function post(data: unknown, headers: Record<string, string> = {}): RequestInit {
  const body = typeof data === 'string' ? data : JSON.stringify(data)
  return {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
  }
}

/** A schema that takes what `accepts` says, and gives it doubled in a list. */
function hand(accepts: (value: unknown) => boolean, message = 'no'): StandardSchema<unknown, unknown[]> {
  return {
    '~standard': {
      version: 1,
      vendor: 'hand',
      validate: (value) => accepts(value) ? { value: [value, value] } : { issues: [{ message }] },
    },
  }
}

const LIBRARIES: Record<string, { body: StandardSchema; query: StandardSchema }> = {
  Zod: {
    body: z.object({ name: z.string().trim().min(1), tags: z.array(z.string()) }),
    query: z.object({ page: z.coerce.number().int() }),
  },
  Valibot: {
    body: v.object({ name: v.pipe(v.string(), v.trim(), v.minLength(1)), tags: v.array(v.string()) }),
    query: v.object({ page: v.pipe(v.string(), v.transform(Number), v.integer()) }),
  },
  ArkType: {
    body: type({ name: 'string.trim |> string >= 1', tags: 'string[]' }),
    query: type({ page: 'string.integer.parse' }),
  },
}
for (const [library, schemas] of Object.entries(LIBRARIES)) {
  Deno.test(`validate with ${library} gives what the schemas made of the request`, async () => {
    const { ask } = makeSite([validate(schemas), show])
    const response = await ask('/?page=3', post({ name: ' ada ', tags: ['x'] }))
    assertEquals(response.status, 200)
    assertEquals(await response.json(), { query: { page: 3 }, body: { name: 'ada', tags: ['x'] } })
  })

  Deno.test(`validate with ${library} lists all issues with their paths`, async () => {
    const { ask, only } = makeSite([validate(schemas), show])
    const response = await ask('/?page=x', post({ name: 'ada', tags: ['x', 5] }))
    assertEquals(response.status, 422)
    assertEquals(response.headers.get('content-type'), 'application/problem+json')
    const problem = await response.json()
    assertEquals([problem.type, problem.status, problem.detail], [
      'validation-failed',
      422,
      'The request is not valid',
    ])
    const places = problem.issues.map((
      issue: { source: string; path: unknown[] },
    ) => [issue.source, issue.path])
    assertEquals(places, [['query', ['page']], ['body', ['tags', 1]]])
    assert(problem.issues.every((issue: { message: string }) => issue.message !== ''))
    assertEquals((only('validate:failed').issues as unknown[]).length, 2)
  })
}

Deno.test('Validated is the type of what comes out', async () => {
  const schemas = {
    query: z.object({ page: z.coerce.number() }),
    params: v.object({ id: v.pipe(v.string(), v.transform(Number)) }),
    body: type({ name: 'string' }),
  } satisfies ValidateOptions
  const example: Validated<typeof schemas> = { query: { page: 1 }, params: { id: 2 }, body: { name: 'x' } }
  const { ask } = makeSite([
    validate(schemas),
    answer((ctx) => {
      const { query, params, body } = ctx.get.validated<Validated<typeof schemas>>()
      return query.page + params.id + body.name.length
    }),
  ])
  assertEquals(example.params.id, 2)
  assertEquals(await (await ask('/items/40?page=1', post({ name: 'x' }))).json(), 42)
})

Deno.test('validate sees the parameters of the route', async () => {
  const { ask } = makeSite([validate({ params: z.object({ id: z.coerce.number().positive() }) })])
  assertEquals(await (await ask('/items/7')).json(), { params: { id: 7 } })
  assertEquals(await statusOf(ask('/items/seven')), 422)
})

Deno.test('validate gives headers by lower-case name, and cookies', async () => {
  const schemas = {
    headers: z.object({ 'x-key': z.string() }),
    cookies: z.object({ theme: z.enum(['dark', 'light']) }),
  }
  const { ask } = makeSite([validate(schemas), show])
  const response = await ask('/', { headers: { 'X-Key': 'k', cookie: 'theme=dark; other=1' } })
  assertEquals(await response.json(), { headers: { 'x-key': 'k' }, cookies: { theme: 'dark' } })
  assertEquals(await statusOf(ask('/', { headers: { 'x-key': 'k', cookie: 'theme=pink' } })), 422)
})

Deno.test('validate gives a name that repeats in the query as an array', async () => {
  const { ask } = makeSite([
    validate({ query: z.object({ tag: z.array(z.string()), one: z.string() }) }),
    show,
  ])
  assertEquals((await (await ask('/?tag=a&tag=b&one=c')).json()).query, { tag: ['a', 'b'], one: 'c' })
  assertEquals(await statusOf(ask('/?tag=a&tag=b&one=c&one=d')), 422)
})

Deno.test('validate takes __proto__ in a query for a name', async () => {
  const schema = hand((value) =>
    Object.getPrototypeOf(value) === Object.prototype && Object.hasOwn(value as object, '__proto__')
  )
  assertEquals(await statusOf(makeSite([validate({ query: schema }), show]).ask('/?__proto__=x')), 200)
})

Deno.test('validate reads forms as body', async () => {
  const { ask } = makeSite([validate({ body: z.object({ name: z.string() }) }), show])
  const response = await ask('/', { method: 'POST', body: new URLSearchParams({ name: 'ada' }) })
  assertEquals(await response.json(), { body: { name: 'ada' } })
})

Deno.test('validate answers 400 to JSON that cannot be parsed', async () => {
  const { ask } = makeSite([validate({ body: z.object({}) }), show])
  assertEquals(await statusOf(ask('/', post('{"a":'))), 400)
})

Deno.test('validate answers 422 to a body that is missing or of another type', async () => {
  const { ask } = makeSite([validate({ body: z.object({ a: z.string() }) }), show])
  assertEquals(await statusOf(ask('/', { method: 'POST' })), 422)
  assertEquals(await statusOf(ask('/', post('{"a":"b"}', { 'content-type': 'text/plain' }))), 422)
})

Deno.test('validate json parses JSON whatever the type says', async () => {
  const { ask } = makeSite([validate({ json: z.object({ a: z.string() }) }), show])
  const response = await ask('/', post('{"a":"b"}', { 'content-type': 'text/plain' }))
  assertEquals(await response.json(), { json: { a: 'b' } })
})

for (const method of ['GET', 'HEAD', 'OPTIONS']) {
  Deno.test(`validate asks ${method} for no body`, async () => {
    const { ask } = makeSite([validate({ body: z.object({}), query: z.object({}) }), show])
    assertEquals(await statusOf(ask('/', { method })), 200)
  })
}

Deno.test('two validates on a route add up', async () => {
  const { ask } = makeSite([
    validate({ query: z.object({ a: z.string() }) }),
    validate({ headers: z.object({ 'x-b': z.string() }) }),
    show,
  ])
  const response = await ask('/?a=1', { headers: { 'x-b': '2' } })
  assertEquals(await response.json(), { query: { a: '1' }, headers: { 'x-b': '2' } })
})

Deno.test('validate leaves the body to the handler', async () => {
  const { ask } = makeSite([validate({ body: z.object({}) }), answer((ctx) => ctx.get.text())])
  assertEquals(await (await ask('/', post({ a: 1 }))).json(), '{"a":1}')
})

Deno.test("validate awaits schemas, and a schema that throws is the server's fault", async () => {
  const slow: StandardSchema = {
    '~standard': { version: 1, vendor: 'hand', validate: (value) => Promise.resolve({ value: [value] }) },
  }
  const broken = hand(() => {
    throw new Error('a bug')
  })
  const ok = await makeSite([validate({ query: slow }), show]).ask('/?a=1')
  assertEquals(await ok.json(), { query: [{ a: '1' }] })
  const bad = await makeSite([validate({ query: broken }), show]).ask('/', {
    headers: { accept: 'application/json' },
  })
  assertEquals([bad.status, (await bad.text()).includes('a bug')], [500, false])
})

Deno.test('validate tells a client of 100 issues at most', async () => {
  const many: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'hand',
      validate: () => ({
        issues: Array.from({ length: 500 }, (_, index) => ({ message: 'no', path: [index] })),
      }),
    },
  }
  const response = await makeSite([validate({ query: many })]).ask('/', {
    headers: { accept: 'application/json' },
  })
  assertEquals((await response.json()).issues.length, 100)
})

Deno.test('issuePath reads plain keys and segments', () => {
  assertEquals(issuePath({ message: '', path: ['a', { key: 'b' }, 0, { key: 1 }, Symbol('s')] }), [
    'a',
    'b',
    0,
    1,
    'Symbol(s)',
  ])
  assertEquals(issuePath({ message: '' }), [])
})

Deno.test('validate checks its schemas when it is made', () => {
  assertRefused(() => validate({}), TypeError, 'Cannot make validate: no schema given, want one of params')
  assertRefused(() => validate({ body: {} as never }), TypeError, 'body is {}, want a Standard Schema v1')
  assertRefused(() => validate({ form: z.string() } as never), TypeError, 'form is no option')
  assertRefused(
    () => validate({ query: { '~standard': { version: 2, validate: () => {} } } as never }),
    TypeError,
    'query is',
  )
})
