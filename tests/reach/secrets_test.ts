/** A secret that the host adds, in everything that crosses into a machine: what is not said to a program is in no memory of it. */
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals } from '@std/assert'
import { Outbound } from '../../src/reach/outbound/fetch.ts'
import { toPolicy } from '../../src/reach/outbound/policy.ts'
import { testIsolated } from '../isolated/fixture.ts'
import { ECHOES, serveEchoes, TOKEN } from './echoes.ts'
import { hostile, settle } from './pair.ts'

Deno.test('no message to a program has a secret that the host added, however a server echoes it', async () => {
  await using server = serveEchoes()
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
  await using server = serveEchoes()
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
