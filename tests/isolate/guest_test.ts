import { assertEquals, assertStringIncludes } from '@std/assert'
import { ask, withGuest } from './guest_process.ts'

const JSON_TYPE = [['content-type', 'application/json']] as const

Deno.test('a guest answers GET, POST and parameters through the same context', async () => {
  const files = {
    'users.ts': `
      import type { Context } from '@mayfly/mayfly'
      export const isolated = true
      export function GET(ctx: Context) {
        return ctx.send.json({
          id: ctx.get.param('id'), q: ctx.get.query('q'), agent: ctx.get.header('User-Agent'), ip: ctx.get.ip(),
          direct: ctx.get.ip({ direct: true }), path: ctx.get.pathname(), cookie: ctx.get.cookie('a'), url: ctx.get.url(),
        })
      }
      export async function POST(ctx: Context) {
        const first = await ctx.get.json<{ n: number }>()
        const text = await ctx.get.text()
        return ctx.send.json({ n: first.n + 1, length: text.length }, { status: 201 })
      }
      export function PUT(ctx: Context) { return ctx.send.text('grüße') }
      export function PATCH(ctx: Context) {
        return ctx.set.header('x-a', '1').cookie('c', 'v').status(202) && ctx.send.html('<p>')
      }
      export async function DELETE(ctx: Context) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        return ctx.send.empty()
      }`,
  }
  await withGuest(files, async (guest) => {
    const headers = [['user-agent', 'test'], ['cookie', 'a=b']] as const
    const more = { params: { id: 'ü' }, ip: '10.0.0.1', peer: '10.0.0.2' }
    const got = await ask(guest, { path: '/users/x?q=1&q=2', headers, more })
    assertEquals(got.head, { status: 200, headers: JSON_TYPE })
    assertEquals(JSON.parse(got.text), {
      ...{
        id: 'ü',
        q: '2',
        agent: 'test',
        ip: '10.0.0.1',
        direct: '10.0.0.2',
        path: '/users/x',
        cookie: 'b',
      },
      url: 'http://localhost/users/x?q=1&q=2',
    })
    const posted = await ask(guest, { method: 'POST', body: '{"n":1}', headers: JSON_TYPE })
    assertEquals(posted, { head: { status: 201, headers: JSON_TYPE }, text: '{"n":2,"length":7}' })
    assertEquals((await ask(guest, { method: 'PUT' })).text, 'grüße')
    const patched = await ask(guest, { method: 'PATCH' })
    assertEquals(patched.text, '<p>')
    assertEquals(patched.head.status, 202)
    assertEquals(patched.head.pending, { single: [['x-a', '1']], appended: [['set-cookie', 'c=v; Path=/']] })
    const deleted = await ask(guest, { method: 'DELETE' })
    assertEquals(deleted, { head: { status: 204, headers: [] }, text: '' })
  })
})

Deno.test('a guest gives errors as data and goes on', async () => {
  const files = {
    'fail.ts': `
      import { HttpError } from '@mayfly/mayfly'
      export const isolated = true
      export function GET() { throw new HttpError(418, 'tea', { type: 'pot', headers: { 'x-tea': '1' }, details: { cups: 2 } }) }
      export function POST() { throw new Error('secret', { cause: 'why' }) }
      export async function PUT() { await null; return 5 }
      export function PATCH() { return new Promise(() => {}) }
      export function DELETE(ctx) { ctx.set.header('x-a', 'b').status(410); ctx.fail(409) }
      export function OPTIONS(ctx) { return ctx.send.file('/etc/passwd') }
      export function HEAD() { Promise.reject(new Error('stray')); return new Promise((r) => setTimeout(r, 5, new Response('x'))) }`,
  }
  await withGuest(files, async (guest) => {
    const tea = (await ask(guest, {})).head.error!
    assertEquals({ ...tea, stack: undefined }, {
      name: 'HttpError',
      message: 'tea',
      stack: undefined,
      http: { status: 418, type: 'pot', headers: { 'x-tea': '1' }, details: { cups: 2 } },
    } as never)
    const secret = (await ask(guest, { method: 'POST' })).head.error!
    assertEquals([secret.name, secret.message, secret.http, secret.cause?.message], [
      'Error',
      'secret',
      undefined,
      'threw "why"',
    ])
    assertStringIncludes(
      (await ask(guest, { method: 'PUT' })).head.error!.message,
      'returned a value of type number',
    )
    assertStringIncludes(
      (await ask(guest, { method: 'PATCH', path: '/fail' })).head.error!.message,
      'nothing will settle',
    )
    const failed = await ask(guest, { method: 'DELETE' })
    assertEquals([failed.head.error?.http?.status, failed.head.pending?.single, failed.head.setStatus], [
      409,
      [['x-a', 'b']],
      410,
    ])
    assertStringIncludes((await ask(guest, { method: 'OPTIONS' })).head.error!.message, 'reaches no files')
    assertEquals((await ask(guest, { method: 'HEAD' })).head.status, 200)
    assertEquals((await ask(guest, {})).head.error?.message, 'tea')
  })
})

Deno.test('a guest runs a Hono app', async () => {
  const files = {
    'app.ts': `
      import { Hono } from 'hono'
      export const isolated = true
      const app = new Hono()
      app.get('/app/users/:id', (c) => c.json({ id: c.req.param('id'), q: c.req.query('q') }))
      app.post('/app/echo', async (c) => c.text(await c.req.text(), 201, { 'x-echo': '1' }))
      export default app`,
  }
  await withGuest(files, async (guest) => {
    const got = await ask(guest, { path: '/app/users/7?q=z' })
    assertEquals([got.head.status, JSON.parse(got.text)], [200, { id: '7', q: 'z' }])
    const echo = await ask(guest, { method: 'POST', path: '/app/echo', body: 'hé' })
    assertEquals([echo.head.status, echo.text, echo.head.headers?.find(([name]) => name === 'x-echo')], [
      201,
      'hé',
      ['x-echo', '1'],
    ])
    assertEquals((await ask(guest, { method: 'PUT', path: '/app/echo' })).head.status, 404)
  })
})
