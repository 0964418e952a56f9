/**
 * Handlers that use the context and the web's classes in most of their ways. They run before anything is optimised: what V8 has
 * only ever seen one way (a field that was never set again, an argument that always had one shape) it takes for a constant, and gives
 * up all code that relies on it as soon as a request does otherwise. After a reset every such request would do so again: a
 * first 404, a session, a header that a handler sets cost a millisecond each.
 */
import { writeLine } from '../wire/request_line.ts'
import type { GuestContext } from './context.ts'
import { SEED_DIGITS } from './http/head.ts'

/** What a handler of the application could do. */
export const CASES: readonly ((ctx: GuestContext) => unknown)[] = [
  (ctx) => ctx.send.json({ a: 1 }),
  (ctx) => ctx.send.text('a'),
  (ctx) => ctx.send.html('a'),
  (ctx) => ctx.send.json({ a: 1 }, { status: 404, headers: { 'x-a': 'b' } }),
  (ctx) =>
    ctx.send.text('', { status: 500, statusText: 'No', headers: [['x-a', 'b'], ['set-cookie', 'a=b']] }),
  (ctx) => ctx.send.empty(),
  (ctx) => ctx.send.redirect('/a'),
  (ctx) => ctx.send.custom(new Uint8Array(3), { headers: new Headers({ 'x-a': 'b' }) }),
  (ctx) => ctx.send.stream(['a', 'b']),
  (ctx) => ctx.render('a', { b: 1 }, { status: 404, headers: { 'x-a': 'b' } }),
  (ctx) => ctx.fail(404),
  () => {
    throw new TypeError('a')
  },
  (ctx) => {
    ctx.set.header('x-a', 'b').cookie('a', 'b').status(201)
    ctx.state.a = 1
    if (ctx.session !== null) ctx.set.session({ a: 1 })
    return ctx.send.json({})
  },
  async (ctx) => {
    const { get } = ctx
    const parts = [
      get.method(),
      get.header(),
      get.query(),
      get.param(),
      get.cookie(),
      get.ip(),
      await get.text(),
    ]
    return ctx.send.json(parts)
  },
  () => new Response(null, { status: 204, statusText: 'None' }),
  () => new Response('a', { headers: [['content-type', 'text/plain']] }),
  () => Response.json({}, { status: 422 }),
  () => Response.redirect('http://localhost/', 307),
  async ({ request }) => {
    const url = new URL('/a?b=c', request.url)
    const again = new Request(url, { method: 'PUT', headers: request.headers, body: await request.text() })
    const response = new Response(again.body, { status: 404, headers: again.headers })
    response.headers.set('x-a', url.searchParams.get('b')!)
    response.headers.append('set-cookie', 'a=b')
    response.headers.delete('host')
    return new Response(response.clone().body, response)
  },
]

/** The headers of requests for a way: with nothing, and with all that there is. */
export function headersFor(way: number): string[] {
  const place = { handler: way, url: 'http://localhost/a?b=c', path: '/a' }
  const addresses = { ip: '192.0.2.1', peer: '127.0.0.1' }
  const pending = { single: [['etag', '"a"']], appended: [['set-cookie', 'a=b']] } as const
  const rest = { state: { a: 1 }, session: { data: { b: 2 } }, validated: { value: 3 }, status: 202 }
  const lines = [
    writeLine({ method: 'GET', ...place }),
    writeLine({ method: 'HEAD', ...place, ...addresses, session: { data: null } }),
    writeLine({ method: 'POST', ...place, ...addresses, params: { id: '7' }, pending, ...rest }),
  ]
  const headers = '["host","localhost","content-type","text/plain","cookie","a=b"]'
  return lines.map((line) => `${line}\n${headers}\n${'0'.repeat(SEED_DIGITS)}`)
}
