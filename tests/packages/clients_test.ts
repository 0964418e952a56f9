/** npm packages that ask servers, in isolated handlers: those over `fetch`, `node:http` and `node:https` work, those over sockets say what does. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { MISSING } from '../isolated/fixture.ts'

/** A line of `clients.ts`. */
interface Told {
  readonly path: string
  readonly status: number
  readonly text: string
}

const REFUSED =
  /^Cannot fetch http:\/\/other\.test\/: the program may not reach http:\/\/other\.test, want one of/
const NO_SOCKET = /isolated handlers have no network, want fetch, node:http or node:https/

let answers: Promise<ReadonlyMap<string, Told>> | undefined

/** What a client got, as JSON. All are asked by one process, which has the packages' configuration. */
async function answerOf(path: string): Promise<Record<string, unknown>> {
  answers ??= ask(['/axios?adapter=http', '/axios?adapter=fetch', '/got', '/node-fetch', '/http', '/undici'])
  const { status, text } = (await answers).get(path)!
  assertEquals(status, 200, text)
  return JSON.parse(text)
}

async function ask(paths: readonly string[]): Promise<ReadonlyMap<string, Told>> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-check', '--no-prompt', '--frozen', 'clients.ts', ...paths],
    cwd: fromFileUrl(new URL('.', import.meta.url)),
    stdin: 'null',
    env: { NO_COLOR: '1' },
  }).output()
  const decoder = new TextDecoder()
  assert(success, `the clients could not ask:\n${decoder.decode(stderr)}`)
  const lines = decoder.decode(stdout).trim().split('\n').map((line): Told => JSON.parse(line))
  return new Map(lines.map((line) => [line.path, line]))
}

/** What each of them is to get, by its name. */
const CLIENTS = {
  '/axios?adapter=http': { own: 'axios', missing: 'ERR_BAD_REQUEST 404', other: REFUSED },
  // Its adapter says of each failed fetch the same.
  '/axios?adapter=fetch': { own: 'axios', missing: 'ERR_BAD_REQUEST 404', other: /^Network Error$/ },
  '/got': { own: 'got', missing: 'ERR_NON_2XX_3XX_RESPONSE 404', other: REFUSED },
  '/node-fetch': { own: 'node-fetch', missing: 404, other: /reason: Cannot fetch http:\/\/other\.test\// },
} as const

for (const [path, { own, missing, other }] of Object.entries(CLIENTS)) {
  Deno.test({
    name: `${path.slice(1)} asks a server from an isolated handler`,
    ignore: MISSING !== '',
    async fn() {
      const { posted, moved, other: refused, ...told } = await answerOf(path)
      assertEquals(told, {
        got: [200, { search: '?q=gr%C3%B6%C3%9Fe', own }, 'yes'],
        missing,
        large: 3_000_000,
      })
      // The server is told the length of a body that was whole, and what the host added.
      const sent = { method: 'POST', own, secret: true }
      assertEquals(posted, { ...sent, type: 'application/json', length: '14', text: '{"name":"Ann"}' })
      assertEquals(moved, { ...sent, type: 'text/plain', length: '4', text: 'kept' })
      assertMatch(refused as string, other)
    },
  })
}

Deno.test({
  name: 'node:http in an isolated handler: kept connections, bodies in chunks, requests that end early',
  ignore: MISSING !== '',
  async fn() {
    const { chunked, sized, upgrade, socket, other, ...told } = await answerOf('/http')
    assertEquals(told, {
      upload: '3000000',
      head: [200, '', 'yes'],
      cookies: ['a=1', 'b=2'],
      two: [[200, 3_000_000], [404, 2]],
      late: 'late',
      aborted: 'AbortError',
    })
    const texts = [chunked, sized].map((text) => JSON.parse(text as string))
    assertEquals(texts.map(({ text, length }) => [text, length]), [['abä', '4'], ['ok', '2']])
    assertMatch(
      upgrade as string,
      /^Cannot upgrade a connection to http:\/\/127\.0\.0\.1:\d+: .*want a request/,
    )
    assertMatch(socket as string, /^Cannot connect to \/run\/docker\.sock: .*want a URL/)
    assertMatch(other as string, /^Cannot fetch https:\/\/other\.test\/: the program may not reach/)
  },
})

Deno.test({
  name: 'what opens a socket in an isolated handler is told what does work',
  ignore: MISSING !== '',
  async fn() {
    for (const [how, words] of Object.entries(await answerOf('/undici'))) {
      assertMatch(words as string, NO_SOCKET, how)
    }
  },
})
