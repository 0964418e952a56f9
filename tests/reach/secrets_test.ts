/** A secret that the host adds, in everything that crosses into a machine: what is not said to a program is in no memory of it. */
import { assert } from '@std/assert'
import { Outbound } from '../../src/reach/outbound/fetch.ts'
import { toPolicy } from '../../src/reach/outbound/policy.ts'
import { hostile, settle } from './pair.ts'

const TOKEN = 'tok-7f3a9c51-never-seen-by-guests'
const SECRET = `Bearer ${TOKEN}`
/** Ways in which a server tells what it was sent. */
const ECHOES: Readonly<Record<string, (value: string) => Response>> = {
  '/plain': () => new Response('fine'),
  '/body': (value) => new Response(`you sent ${value}`),
  '/header': (value) => new Response('fine', { headers: { 'x-echo': value, 'x-own': 'y' } }),
  '/cookie': (value) => new Response('fine', { headers: { 'set-cookie': `a=${value}` } }),
  '/location': (value) => new Response(null, { status: 302, headers: { location: `/?${value}` } }),
  '/escaped': (value) =>
    new Response(null, {
      status: 302,
      headers: { location: `/?${value.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`)}` },
    }),
  '/status': (value) => new Response(value, { status: 500 }),
  '/split': (value) =>
    new Response(ReadableStream.from([...value].map((letter) => new TextEncoder().encode(letter)))),
}

/** Answers as the path says, and counts those who had the secret. */
function serve() {
  const heard = { withSecret: 0 }
  const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, (request) => {
    const value = request.headers.get('authorization') ?? ''
    if (value === SECRET) heard.withSecret++
    return (ECHOES[new URL(request.url).pathname] ?? ECHOES['/plain']!)(value)
  })
  const origin = `http://127.0.0.1:${server.addr.port}`
  const list = { allow: [origin], headers: { [origin]: { authorization: () => SECRET } } }
  return { heard, origin, list, [Symbol.asyncDispose]: () => server.shutdown() }
}

Deno.test('no message to a program has a secret that the host added, however a server echoes it', async () => {
  await using server = serve()
  await using outbound = new Outbound(toPolicy(server.list))
  for (const [at, path] of Object.keys(ECHOES).entries()) {
    for (const redirect of ['follow', 'manual', 'error']) {
      const { hear, said, conversation } = hostile({}, { outbound })
      const id = 2 * at + 1
      hear(id, ['fetch', null, {
        url: server.origin + path,
        method: 'GET',
        headers: [],
        redirect,
        hasBody: false,
      }])
      const isOver = () => said.some(({ head }) => head[0] === 'end' || head[0] === 'error')
      for (let tries = 0; !isOver() && tries < 100; tries++) await settle()
      assert(isOver(), `${path} ${redirect}: ${Deno.inspect(said)}`)
      const all = said.map(({ head, body }) => JSON.stringify(head) + body).join('')
      assert(!all.includes(TOKEN), `${path} ${redirect}: ${all}`)
      conversation.end()
    }
  }
  // Each was asked with it: there was something to be kept out.
  assert(server.heard.withSecret >= 3 * Object.keys(ECHOES).length)
})
