/** The playground by hand-written requests, without a machine. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import type { Sandbox } from '@mayfly/mayfly/sandbox'
import {
  attempt,
  BusyError,
  createPlayground,
  MAX_BODY,
  MAX_CODE,
} from '../../routes/_lib/playground/attempt.ts'
import { findSample, SAMPLES } from '../../routes/_lib/playground/samples.ts'
import { packProgram, unpackProgram } from '../../routes/_public/program_link.js'
import { createSite } from '../../routes/_site.ts'

const ORIGIN = 'http://localhost'

type Site = ReturnType<typeof createSite>

const asJson = (body: BodyInit, headers: HeadersInit = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
  body,
})

let visitors = 0

/** Another address for each request: the limit by address counts for all sites of the process. */
function visitor() {
  return { remoteAddr: { transport: 'tcp', hostname: `10.1.0.${++visitors}`, port: 1 } } as const
}

/** Status and problem of a request to run. */
async function run(site: Site, init: RequestInit): Promise<[number, { detail?: string; type?: string }]> {
  const response = await site.fetch(new Request(`${ORIGIN}/playground/run`, init), visitor())
  return [response.status, await response.json()]
}

Deno.test('requests to run that are none are refused in words', async () => {
  await using site = createSite({ production: true, isolate: false })
  const cases: readonly [BodyInit, number, RegExp][] = [
    ['{"code":', 400, /JSON/],
    ['null', 400, /code is missing/],
    ['[]', 400, /code is missing/],
    ['"text"', 400, /code is missing/],
    ['{"code":7,"language":"js"}', 400, /code is missing/],
    ['{"code":"1"}', 400, /language is undefined/],
    ['{"code":"1","language":"wasm"}', 400, /language is "wasm": want "js" or "ts"/],
    ['{"code":"1","language":["js"]}', 400, /language is \["js"\]/],
    ['{"code":"1","language":{"toString":1}}', 400, /language is \{/],
    ['{"__proto__":{"code":"1","language":"js"}}', 400, /code is missing/],
    [JSON.stringify({ code: '1', language: 'x'.repeat(10_000) }), 400, /^language is "x{39}: want/],
    [
      JSON.stringify({ code: 'x'.repeat(MAX_CODE + 1), language: 'js' }),
      400,
      /20001 characters: want at most 20000/,
    ],
    [new Uint8Array([0xff, 0xfe, 0x00]), 400, /./],
    [JSON.stringify({ code: 'x'.repeat(MAX_BODY), language: 'js' }), 413, /too large/],
  ]
  for (const [body, status, detail] of cases) {
    const [got, problem] = await run(site, asJson(body))
    assertEquals(got, status, String(body).slice(0, 60))
    assertMatch(problem.detail ?? '', detail)
  }
  const [status] = await run(site, { method: 'POST', headers: { accept: 'application/json' }, body: 'code' })
  assert(status === 400 || status === 415, `${status}`)
  const read = await site.fetch(new Request(`${ORIGIN}/playground/run`))
  await read.body?.cancel()
  assertEquals([read.status, read.headers.get('allow')], [405, 'OPTIONS, POST'])
})

Deno.test('a body without an end is cut off at its limit', async () => {
  await using site = createSite({ production: true, isolate: false })
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      sent += 65_536
      controller.enqueue(new Uint8Array(65_536).fill(32))
    },
  })
  const [status] = await run(site, asJson(body))
  assertEquals(status, 413)
  assert(sent <= MAX_BODY + 4 * 65_536, `${sent} bytes were read`)
})

Deno.test('a flood of one address gets 429 and when to come again; bad requests count as well', async () => {
  await using site = createSite({ production: true, isolate: false })
  const own = visitor()
  const bodies = ['{', '{"code":"1","language":"js"}']
  let served = 0
  let last: Response
  do {
    last = await site.fetch(new Request(`${ORIGIN}/playground/run`, asJson(bodies[served % 2])), own)
    if (last.status !== 429) await last.body?.cancel()
  } while (last.status !== 429 && ++served < 1000)
  assert(served >= 20, `${served} were served`)
  assertEquals(last.status, 429)
  assert(Number(last.headers.get('retry-after')) >= 1)
  assertMatch((await last.json()).detail, /Twenty programs a minute/)
  // Others are served, and the page is there.
  assertEquals((await run(site, asJson('{')))[0], 400)
  assertEquals((await site.fetch(new Request(`${ORIGIN}/playground`), own)).status, 200)
})

Deno.test('where no machine runs nothing runs, and the page says how to get one', async () => {
  await using site = createSite({ production: true, isolate: false })
  const [status, { type, detail }] = await run(site, asJson('{"code":"export default 1","language":"js"}'))
  assertEquals([status, type], [503, 'isolation-unavailable'])
  assertMatch(detail ?? '', /isolate: false/)
  const html = await (await site.fetch(new Request(`${ORIGIN}/playground`))).text()
  assertStringIncludes(html, '/dev/kvm')
  assertStringIncludes(html, 'href="/docs/deployment#isolated-routes"')
})

Deno.test('the page shows a sample by its name, and its policy lets nothing run inline', async () => {
  await using site = createSite({ production: true, isolate: false })
  for (const [query, id] of [['', 'hello'], ['?sample=loop', 'loop'], ['?sample=%3Cscript%3E', 'hello']]) {
    const response = await site.fetch(new Request(`${ORIGIN}/playground${query}`))
    const policy = response.headers.get('content-security-policy') ?? ''
    assert(!/unsafe|\*/.test(policy), policy)
    assertMatch(policy, /default-src 'none'.*script-src 'nonce-[^']+'; style-src 'self' 'nonce-/)
    const html = await response.text()
    assertMatch(html, new RegExp(`data-sample="${id}"[^>]*aria-current="true"`))
    assert(!html.includes('<script>'))
    // The sample that injects markup is in an attribute of its link.
    assertStringIncludes(html, '&lt;img src=x onerror=')
  }
  assertEquals(findSample('constructor').id, 'hello')
  assertEquals(new Set(SAMPLES.map(({ id }) => id)).size, SAMPLES.length)
})

Deno.test('the editor is one script, bundled once, and a browser that has it gets 304', async () => {
  await using site = createSite({ production: true, isolate: false })
  const get = (headers: HeadersInit = {}) =>
    site.fetch(new Request(`${ORIGIN}/playground/editor`, { headers }))
  const first = await get()
  const etag = first.headers.get('etag') ?? ''
  const code = await first.text()
  assertMatch(first.headers.get('content-type') ?? '', /^text\/javascript/)
  assertMatch(code, /export\s*\{\s*\w+ as createEditor\s*\}/)
  // Nothing is left that a browser would have to find.
  assert(!/["'](?:@codemirror|@lezer|style-mod|crelt|w3c-keyname)\b/.test(code))
  assert(code.length > 100_000 && code.length < 600_000, `${code.length} characters`)
  const again = await get({ 'if-none-match': etag })
  assertEquals([again.status, await again.text()], [304, ''])
})

Deno.test('the playground runs sixteen programs beside each other, and refuses more', async () => {
  const ends: (() => void)[] = []
  const stats = {
    queueMicros: 1,
    runMicros: 2,
    exits: 3,
    warm: false,
    reset: () => Promise.resolve({ resetMicros: 4, pages: 5 }),
  }
  const run = () =>
    new Promise((resolve) => ends.push(() => resolve({ value: 'x'.repeat(100_000), logs: '', stats })))
  const playground = createPlayground(() => ({ run }) as unknown as Sandbox)
  const attempts = Array.from({ length: 16 }, () => attempt(playground, '1', 'js'))
  for (let i = 0; i < 3; i++) {
    const error = await attempt(playground, '1', 'js').catch((error) => error)
    assert(error instanceof BusyError)
  }
  for (const end of ends.splice(0)) end()
  for (const { text, cost } of await Promise.all(attempts)) {
    assert(text.length < 21_000)
    assertMatch(text, /characters/)
    assertEquals(cost, { queue: 1, run: 2, reset: 4, pages: 5, exits: 3 })
  }
  assertEquals(playground.underWay, 0)
  const next = attempt(playground, '1', 'js')
  ends[0]()
  assertEquals((await next).outcome, 'answered')
})

Deno.test('a program comes back from its link, and a bomb in a link is not unpacked', async () => {
  for (const { code, language } of SAMPLES) {
    const fragment = await packProgram(code, language)
    assertMatch(fragment, /^(?:js|ts)\.[\w-]+$/)
    assertEquals(await unpackProgram(fragment, MAX_CODE), { code, language })
  }
  assertEquals(await unpackProgram(await packProgram('x'.repeat(50_000_000), 'js'), MAX_CODE), null)
  const odd = await packProgram('“é” 🦟 </script>', 'ts')
  assertEquals(await unpackProgram(odd, MAX_CODE), { code: '“é” 🦟 </script>', language: 'ts' })
  for (const none of ['', 'js', 'js.', 'py.AAAA', 'js.%41', 'js.' + 'A'.repeat(300_000)]) {
    assertEquals(await unpackProgram(none, MAX_CODE), null, none.slice(0, 20))
  }
})
