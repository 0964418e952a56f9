import { assert, assertEquals, assertMatch } from '@std/assert'
import { findHints, type RequestHints } from '../../src/isolate/hints/request_hints.ts'
import { sampleBody } from '../../src/isolate/hints/sample_body.ts'
import type { Shape } from '../../src/isolate/hints/shape.ts'

/** The first body that a source reads. */
function bodyOf(source: string): RequestHints['bodies'][number] | undefined {
  return findHints(source).bodies[0]
}

/** A shape as a short text: members that may be missing have a `?`. */
function describe(shape: Shape): string {
  switch (shape.kind) {
    case 'list':
      return `${describe(shape.item)}[]`
    case 'record':
      return `{*: ${describe(shape.item)}}`
    case 'tuple':
      return `[${shape.items.map(describe).join(', ')}]`
    case 'union':
      return shape.options.map(describe).join(' | ')
    case 'values':
      return shape.values.map((value) => JSON.stringify(value)).join(' | ')
    case 'object': {
      const members = [...shape.members]
      return `{${
        members.map(([name, m]) => `${name}${m.optional ? '?' : ''}: ${describe(m.shape)}`).join(', ')
      }}`
    }
    case 'text': {
      const { format, pattern, least, most } = shape
      const bounds = least === undefined && most === undefined ? '' : ` ${least ?? ''}..${most ?? ''}`
      return `text${format === undefined ? '' : ` ${format}`}${
        pattern === undefined ? '' : ` /${pattern}/`
      }${bounds}`
    }
    case 'number': {
      const { whole, least, most } = shape
      const bounds = least === undefined && most === undefined ? '' : ` ${least ?? ''}..${most ?? ''}`
      return `${whole ? 'whole' : 'number'}${bounds}`
    }
    default:
      return shape.kind
  }
}

/** What `POST` of a source takes, declarations before it. */
function shapeOf(before: string, call: string): string {
  const source = `import type { Context } from '@mayfly/mayfly'
${before}
export async function POST(ctx: Context) {
  ${call}
}`
  return describe(bodyOf(source)!.shape)
}

const types: [declared: string, call: string, shape: string][] = [
  ['', 'const a = await ctx.get.json<{ name: string; tags?: string[] }>()', '{name: text, tags?: text[]}'],
  ['', 'for (const [a, b] of await ctx.get.json<[number, number][]>()) f(a, b)', '[number, number][]'],
  ['', 'f(await ctx.get.json<Record<string, Array<number>>>())', '{*: number[]}'],
  ['', "f(await ctx.get.json<{ a: 'x' | 'y' | 3 | null }>())", '{a: "x" | "y" | 3 | null}'],
  [
    '',
    'f(await ctx.get.json<{ a?: number | undefined, readonly b: boolean }>())',
    '{a?: number, b: boolean}',
  ],
  ['', 'f(await ctx.get.json<Partial<{ a: Date }>[]>())', '{a: text date}[]'],
  [
    'interface B { b: string }\ninterface A extends B { a: B[]; f(x: number): void }',
    'f(await ctx.get.json<A>())',
    '{b: text, a: {b: text}[]}',
  ],
  [
    'type A = { a: number } & B\ntype B = { b: (string | number)[] }',
    'const { a } = (await ctx.get.json()) as A',
    '{a: number, b: text | number[]}',
  ],
  [
    'type Tree = { name: string; children: Tree[] }',
    'const tree: Tree = await ctx.get.json()',
    '{name: text, children: any[]}',
  ],
  ['', "const { a, b = 'x', c: d, ...rest } = await ctx.get.json()", '{a: any, b: "x", c: any}'],
  [
    '',
    'const body = await ctx.get.json()\nbody.items.map(f); f(body.name.trim(), Number(body.n))',
    '{items: any[], name: text, n: number}',
  ],
  [
    '',
    "const form = await ctx.get.formData()\nf(String(form.get('html')), form.getAll('tags'), form.has('x'), other.form.get('y'))",
    '{html: any, tags: any, x: any}',
  ],
  [
    '',
    'for (const [a, b] of Object.entries(await ctx.get.json<Record<string, string>>())) f(a, b)',
    '{*: text}',
  ],
  ['', 'for (const a of Object.values(await ctx.get.json())) f(a)', '{*: any}'],
  ['', 'for (const a of await ctx.get.json()) f(a)', 'any[]'],
  ['', 'const numbers = await readBody<number[]>(event) ?? []', 'number[]'],
  ['', "const mail = (await ctx.get.formData()).get('mail')", '{mail: any}'],
  [
    'type A = { type: string }',
    "const a = await ctx.get.json<A>(); if (a.type === 'add') f()",
    '{type: "add"}',
  ],
]
for (const [declared, call, shape] of types) {
  Deno.test(`types and uses tell a body: ${declared} ${call}`.replaceAll('\n', ' '), () => {
    assertEquals(shapeOf(declared, call), shape)
  })
}

const schemas: [library: string, schema: string, call: string, shape: string][] = [
  [
    'zod',
    `const City = z.object({ city: z.string(), zip: z.string().regex(/^\\d{5}$/) })
const User = z.object({
  name: z.string().min(1).max(50), mail: z.email(), born: z.iso.date().transform((text) => new Date(text)).optional(),
  role: z.enum(['user', 'admin']).default('user'), tags: z.array(z.string()), city: City, age: z.number().int().gte(18),
}).strict()`,
    'const { data } = User.safeParse(await ctx.get.json())',
    '{name: text 1..50, mail: text email, born?: text date, role?: "user" | "admin", tags: text[], city: {city: text, zip: text /^\\d{5}$/}, age: whole 18..}',
  ],
  [
    'valibot',
    'const Form = v.object({ age: v.pipe(v.string(), v.transform(Number), v.integer()), site: v.optional(v.pipe(v.string(), v.url())) })',
    'v.safeParse(Form, Object.fromEntries(await ctx.get.formData()))',
    '{age: text, site?: text url}',
  ],
  [
    'typebox',
    "const T = Type.Object({ id: Type.Integer(), title: Type.String({ minLength: 1 }), tags: Type.Optional(Type.Array(Type.Union([Type.Literal('a'), Type.Literal('b')]))) })",
    'f(T, await ctx.get.json())',
    '{id: whole, title: text 1.., tags?: "a" | "b"[]}',
  ],
  [
    'joi',
    "const schema = Joi.object({ name: Joi.string().required(), roles: Joi.array().items(Joi.string().valid('user', 'admin')), n: Joi.number().max(9) })",
    'schema.validate(await ctx.get.json())',
    '{name: text, roles?: "user" | "admin"[], n?: number ..9}',
  ],
  [
    'arktype',
    "const U = type({ name: '1 <= string <= 50', mail: 'string.email', 'tags?': 'string[]', role: \"'a' | 'b'\" })",
    'U(await ctx.get.json())',
    '{name: text 1.., mail: text email, tags?: text[], role: "a" | "b"}',
  ],
  [
    'JSON Schema',
    `const validate = ajv.compile({ type: 'object', required: ['id', 'lines'], properties: {
  id: { type: 'integer', minimum: 1 }, at: { type: 'string', format: 'date-time' },
  lines: { type: 'array', items: { type: 'object', properties: { sku: { enum: ['a', 'b'] } } } } } })`,
    'const order = await ctx.get.json(); if (validate(order)) f()',
    '{id: whole 1.., at?: text datetime, lines: {sku: "a" | "b"}[]}',
  ],
  [
    'Avro',
    "const type = avro.Type.forSchema({ type: 'record', name: 'P', fields: [{ name: 'age', type: 'int' }, { name: 'tags', type: { type: 'array', items: 'string' } }] })",
    'type.toBuffer(await ctx.get.json())',
    '{age: whole, tags: text[]}',
  ],
  ['in place', '', 'z.array(z.object({ a: z.string() })).parse(await ctx.get.json())', '{a: text}'],
]
for (const [library, schema, call, shape] of schemas) {
  Deno.test(`a schema tells a body: ${library}`, () => assertEquals(shapeOf(schema, call), shape))
}

Deno.test('templates of the source tell the names that they ask for', () => {
  const call = 'ctx.send.html(page(await ctx.get.json()))'
  assertEquals(
    shapeOf('const page = compile(`<h1>{{day}}</h1>{{#each people}}{{name}}{{/each}}`)', call),
    '{day: any, name: any, people: {id: any, name: any, title: any, day: any}[]}',
  )
  assertEquals(
    shapeOf('const page = compile(`{{#with home}}{{zip}}{{/with}}{{p.work.city}}`)', call),
    '{zip: any, city: any, work: {zip: any, city: any}, home: {zip: any, city: any}}',
  )
  assertEquals(
    shapeOf('const page = compile(`each p, i in people\n  li(id=p.age) #{p.home.zip}\n  b= title`)', call),
    '{age: any, zip: any, title: any, home: {age: any, zip: any, title: any}, people: {id: any, name: any, title: any, age: any, zip: any, home: {age: any, zip: any, title: any}}[]}',
  )
  assertEquals(
    shapeOf(
      "const page = compile(`{% for p in people | sort(false, 'age') %}{{ p.tags | join(', ') }}{% endfor %}`)",
      call,
    ),
    '{tags: any, age: any, people: {id: any, name: any, title: any, tags: any, age: any}[]}',
  )
  assertEquals(
    shapeOf('const page = compile(`<% for (const p of people) { %><b><%= p.city %></b><% } %>`)', call),
    '{city: any, people: {id: any, name: any, title: any, city: any}[]}',
  )
})

Deno.test('each handler has its own bodies; what stands outside of them is for all', () => {
  const source = `import * as z from 'zod'
const A = z.object({ a: z.string() })
const B = z.object({ b: z.number() })
const read = (ctx) => ctx.get.text()
export async function POST(ctx) { return A.parse(await ctx.get.json()) }
export const PUT = async (ctx) => B.parse(await ctx.get.json())
export const PATCH = async (ctx) => read(ctx)
const app = new Hono().post('/a/:id', async (c) => c.json(await c.req.json<{ c: 1 }>()))`
  const found = findHints(source).bodies.map(({ handler, read, shape }) => [handler, read, describe(shape)])
  assertEquals(found, [
    [null, 'text', 'any'],
    ['POST', 'json', '{a: text}'],
    ['PUT', 'json', '{b: number}'],
    ['POST /a/:id', 'json', '{c: 1}'],
  ])
})

Deno.test("the function of Hono's validator tells the body", () => {
  const source =
    "app.post('/o', validator('json', (value, c) => value.item === 'x' && Number(value.count)), (c) => 1)"
  assertEquals(bodyOf(source)?.handler, 'POST /o')
  assertEquals(describe(bodyOf(source)!.shape), '{item: "x", count: number}')
})

Deno.test('answers and other things of those names are no bodies', () => {
  for (
    const source of [
      'ctx.send.json(a)',
      '$(row).text().trim()',
      'res.json()',
      'response.text()',
      'winston.format.json()',
      'text()',
      'a.json',
    ]
  ) {
    assertEquals(bodyOf(source), undefined, source)
  }
  for (
    const [source, read] of [
      ['ctx.get.body()', 'any'],
      ['c.req.parseBody()', 'any'],
      ['request.arrayBuffer()', 'bytes'],
      ['await readBody(event)', 'any'],
      ['request.formData()', 'form'],
    ]
  ) {
    assertEquals(bodyOf(source)?.read, read, source)
  }
})

/** The bodies of a round of requests, by their types. */
function bodies(source: string): { type: string; body: unknown }[] {
  const hints = findHints(source)
  return Array.from({ length: 10 }, (_, turn) => {
    const { headers, body } = sampleBody({ method: 'POST', path: '/' }, hints, turn)!
    return { type: headers['content-type'], body }
  })
}

Deno.test('bodies are of the kind that is read, and say whose they are', () => {
  const json = bodies('ctx.get.json<{ name: string, tags: string[], note?: string }>()')
  assertEquals(new Set(json.map(({ type }) => type)), new Set(['application/json']))
  const values = json.map(({ body }) => JSON.parse(body as string))
  assertEquals(values[0], {
    name: 'warmup',
    tags: ['warmup', 'Grüße warmup', '<b>927687</b> & "more"'],
    note: 'warmup',
  })
  // Without what may be missing, wrong in all members, and none of them.
  assertEquals(values[1], { name: 'Grüße warmup', tags: ['Grüße warmup'] })
  assertEquals(values[3], { name: '', tags: 'warmup', note: '', extra: 927687 })
  assertEquals(values[7], { extra: 'warmup' })
  assertEquals(values[8], { name: 927687, tags: {}, note: 927687, extra: 927687 })
  for (const { body } of bodies("import { marked } from 'marked'\nawait ctx.get.text()")) {
    assert(typeof body === 'string' && body.length > 400, String(body))
  }
  const forms = bodies('const form = Object.fromEntries(await ctx.get.formData()); f(form.mail, form.age)')
  assertEquals(forms[0], {
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    body: { mail: 'a@warmup.example', age: '9' },
  })
  assertEquals(forms[2], {
    type: 'multipart/form-data',
    body: [{ name: 'mail', value: 'd@warmup.example' }, { name: 'age', value: '6' }],
  })
  const any = bodies('await ctx.get.body()').map(({ type }) => type)
  assert(any.includes('application/json') && any.includes('multipart/form-data'), any.join())
  const bytes = bodies("import { inflate } from 'pako'\nawait ctx.get.bytes()").map(({ body }) => body)
  assert(bytes.some((body) => typeof body === 'string'), 'text')
  assert(bytes.some((body) => typeof body === 'object'), 'a file')
})

Deno.test('what people write is of the kind that the file works on', () => {
  const call = 'f(await ctx.get.json<{ comment: string }>())'
  const comment = (source: string) => JSON.parse(bodies(source)[0]!.body as string).comment
  assertMatch(comment(`import clean from 'sanitize-html'\n${call}`), /<\w+/)
  assertEquals(comment(call), 'warmup')
})

Deno.test('a password that is asked for twice is the same', () => {
  const [{ body }] = bodies(
    "const schema = Joi.object({ password: Joi.string().pattern(/^[a-z]{8,}$/), repeat: Joi.ref('password') })\nschema.validate(await ctx.get.json())",
  )
  assertEquals(JSON.parse(body as string), { password: 'warmupwa', repeat: 'warmupwa' })
})

Deno.test('the probe has a body that no request of the warm-up has', () => {
  for (const source of ['ctx.get.json<{ name: string }>()', 'ctx.get.text()', 'ctx.get.json()']) {
    const hints = findHints(source)
    const probe = sampleBody({ method: 'POST', path: '/' }, hints, -1)
    for (const { body } of bodies(source)) assert(probe?.body !== body, source)
  }
})
