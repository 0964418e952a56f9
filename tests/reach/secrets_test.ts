/** A secret that the host adds, in everything that crosses into a machine: what is not said to a program is in no memory of it. */
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals } from '@std/assert'
import { Outbound } from '../../src/reach/outbound/fetch.ts'
import { toPolicy } from '../../src/reach/outbound/policy.ts'
import { testIsolated } from '../isolated/fixture.ts'
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

testIsolated('a secret is in no value, log, error or event of a program that asks for it', async () => {
  await using server = serve()
  await using sandbox = await Sandbox.open({ vms: 1, limits: { timeoutMs: 20_000 } })
  const seen: unknown[] = []
  const stop = sandbox.on('sandbox:*', (event) => void seen.push(event))
  const worker = sandbox.get('curious', {
    mainModule: 'a.js',
    modules: {
      'a.js': `export async function ask(url) {
  try {
    const response = await fetch(url)
    console.log([...response.headers], response.url)
    return [response.status, [...response.headers], await response.text()]
  } catch (error) {
    console.log(error)
    if (error.message.includes('/split')) throw error
    return [error.name, error.message, error.stack, String(error.cause)]
  }
}`,
    },
    outbound: server.list,
  })
  const entry = worker.entrypoint('default', { limits: { onRun: (report) => void seen.push(report) } })
  for (const path of Object.keys(ECHOES)) {
    seen.push(
      await entry.call('ask', server.origin + path).catch((error) => [error, error.stack, error.logs]),
    )
  }
  stop()
  assertEquals(seen.length >= 2 * Object.keys(ECHOES).length, true)
  const all = Deno.inspect(seen, { depth: 12, strAbbreviateSize: 1e6 })
  assert(all.includes('what the host added'), all)
  assert(!all.includes(TOKEN), all)
})
