/** What the types say, which `deno check` of this file tests: a line that should not compile is expected not to. */
import { assertEquals, assertRejects } from '@std/assert'
import {
  type Context,
  type Handlers,
  type RouteContext,
  type RouteParams,
  Router,
  type StandardSchema,
  validate,
} from '@mayfly/mayfly'
import { tempSite } from '../router/temp_site.ts'

/** Compiles only where both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
function same<A, B>(_same: Same<A, B>): void {}

Deno.test('the parameters of a pattern are its own', () => {
  same<RouteParams<'/users/[id]'>, { readonly id: string }>(true)
  same<RouteParams<'/[[lang]]/about'>, { readonly lang?: string }>(true)
  same<RouteParams<'/files/[...rest]'>, { readonly rest: string }>(true)
  same<RouteParams<'/docs/[[...path]]'>, { readonly path?: string }>(true)
  same<RouteParams<'/user-[id]/[name].json'>, { readonly id: string; readonly name: string }>(true)
  same<keyof RouteParams<'/about'>, never>(true)
  same<RouteParams<string>, Readonly<Record<string, string | undefined>>>(true)
})

const { GET } = {
  GET(ctx) {
    const id: string = ctx.get.param('id')
    const tab: string | undefined = ctx.get.param('tab')
    // @ts-expect-error: the pattern has no such parameter
    ctx.get.param('name')
    // What takes any request takes this one.
    return describe(ctx, `${id} ${tab} ${ctx.get.param().id}`)
  },
} satisfies Handlers<'/users/[id]/[[tab]]'>

function describe(ctx: Context, text: string): Response {
  return ctx.send.text(text)
}

Deno.test('handlers may satisfy the pattern of their file', () => {
  const handlers: Handlers<'/users/[id]/[[tab]]'> = { GET }
  // @ts-expect-error: no method
  const lower: Handlers = { get: () => new Response() }
  // @ts-expect-error: no response
  const text: Handlers = { GET: () => 'text' }
  assertEquals([handlers, lower, text].map((object) => Object.keys(object)[0]), ['GET', 'get', 'GET'])
})

Deno.test('ctx.fail ends the code behind it', () => {
  const plain = (ctx: Context): string => {
    const id = ctx.get.param('id')
    if (id === undefined) ctx.fail(404)
    return id
  }
  const typed = (ctx: RouteContext<'/[[id]]'>): string => {
    const id = ctx.get.param('id')
    if (id === undefined) ctx.fail(404)
    return id
  }
  assertEquals([plain.length, typed.length], [1, 1])
})

/** A schema of this output that takes everything. */
function schemaOf<Output>(output: (value: unknown) => Output): StandardSchema<unknown, Output> {
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: output(value) }) } }
}

const SCHEMAS = {
  query: schemaOf((value) => ({ page: Number((value as { page?: string }).page ?? 1) })),
  json: schemaOf((value) => value as { name: string }),
}

Deno.test('validated(schemas) has the types of its schemas, and what they gave', async () => {
  await using site = await tempSite({
    'routes/a.ts': 'export const GET = () => new Response("a")\nexport const POST = GET\n',
  })
  await using router = new Router({ routesDir: site.routesDir, isolate: false })
  router.use(validate(SCHEMAS), (ctx) => {
    const { query, json } = ctx.get.validated(SCHEMAS)
    same<typeof query, { page: number }>(true)
    same<typeof json, { name: string }>(true)
    // @ts-expect-error: the schema gives no such member
    json.age
    return ctx.send.json([query.page, json.name])
  })
  const response = await router.fetch(
    new Request('http://mayfly.test/a?page=7', { method: 'POST', body: '{"name":"x"}' }),
  )
  assertEquals(await response.json(), [7, 'x'])
})

Deno.test('validated(schemas) refuses what was not asked of the request', async () => {
  await using site = await tempSite({ 'routes/a.ts': 'export const GET = () => new Response("a")\n' })
  await using router = new Router({ routesDir: site.routesDir, isolate: false })
  let caught: Promise<unknown> = Promise.resolve()
  router.use(validate(SCHEMAS), (ctx) => {
    caught = assertRejects(
      () => Promise.resolve().then(() => ctx.get.validated(SCHEMAS)),
      TypeError,
      'json was not validated for GET on this route',
    )
    return ctx.send.json(ctx.get.validated({ query: SCHEMAS.query }))
  })
  const response = await router.fetch(new Request('http://mayfly.test/a?page=7'))
  assertEquals(await response.json(), { query: { page: 7 } })
  await caught
})
