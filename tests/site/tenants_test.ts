/** The page of tenants: three sites by host, and a visitor's version of one. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { MAX_DRAFT, readMain } from '../../routes/_lib/tenants/draft.ts'
import { TENANTS } from '../../routes/_lib/tenants/tenants.ts'
import { createSite } from '../../routes/_site.ts'
import { MISSING, testIsolated } from '../isolated/fixture.ts'
import { hasChromium, LOOKS, openPage, openStage } from './browser.ts'
import * as inPage from './in_page.js'

const ORIGIN = 'http://localhost'
const START_MS = 60_000

type Site = ReturnType<typeof createSite>

let visitors = 0

/** Another address for each request: limits by address count for all sites of the process. */
function visitor() {
  return { remoteAddr: { transport: 'tcp', hostname: `10.2.0.${++visitors}`, port: 1 } } as const
}

async function get(site: Site, url: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await site.fetch(new Request(url), visitor())
  return { status: response.status, text: await response.text(), headers: response.headers }
}

/** Asks a draft, again while the machines start. */
async function ask(site: Site, body: unknown): Promise<{ status: number; answer: Record<string, string> }> {
  for (;;) {
    const response = await site.fetch(
      new Request(`${ORIGIN}/tenants/draft`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
      }),
      visitor(),
    )
    const answer = await response.json()
    if (answer.type !== 'isolation-starting') return { status: response.status, answer }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

Deno.test('requests for tenants and drafts that are none are refused in words', async () => {
  await using site = createSite({ production: true, isolate: false })
  for (
    const query of ['', '?tenant=constructor', '?tenant=acme&path=x', `?tenant=acme&path=/${'x'.repeat(200)}`]
  ) {
    const { status, text } = await get(site, `${ORIGIN}/tenants/ask${query}`)
    assertEquals(status, 400, text)
  }
  const drafts: readonly [unknown, RegExp][] = [
    [null, /code is missing/],
    [{ code: 7, path: '/' }, /code is missing/],
    [{ code: 'x'.repeat(MAX_DRAFT + 1), path: '/' }, /8001 characters: want at most 8000/],
    [{ code: '', path: 'http://example.com/' }, /path is none/],
    [{ code: '' }, /path is none/],
  ]
  for (const [body, detail] of drafts) {
    const { status, answer } = await ask(site, body)
    assertEquals(status, 400)
    assertMatch(answer.detail!, detail)
  }
})

Deno.test('without machines no tenant and no draft runs', async () => {
  await using site = createSite({ production: true, isolate: false })
  assertEquals((await get(site, 'http://acme.localhost/')).status, 503)
  const { status, answer } = await ask(site, { code: 'export default {}', path: '/' })
  assertEquals([status, answer.type], [503, 'isolation-unavailable'])
})

testIsolated('each tenant answers at its host, and through the page', async () => {
  await using site = createSite({ production: true, domain: 'example.com' })
  const expected: Record<string, readonly [string, number, RegExp][]> = {
    acme: [
      ['/', 200, /^Hello from acme!$/],
      ['/count', 200, /^\{"count":1\}$/],
      ['/count', 200, /^\{"count":1\}$/],
      ['/throw', 500, /<h1>Acme is sorry: This site failed<\/h1>/],
      ['//nowhere', 404, /^Acme has no /],
    ],
    shop: [
      ['/', 200, /Tippet ring.*Hackle pliers/],
      ['/items/2', 200, /^\{"id":2,"name":"Hackle pliers","cents":1250\}$/],
      ['/items/9', 404, /^The shop has no such page$/],
    ],
    notes: [
      ['/', 200, /<h1>Field notes<\/h1>\s+<p>You asked for \/\./],
      ['/rivers/isar', 200, /<title>Field notes: \/rivers\/isar<\/title>[^]*<h1>Isar<\/h1>/],
      ['/rivers/inn', 404, /Nothing was noted at \/rivers\/inn/],
      ['/%3Cscript%3E', 404, /Nothing was noted at \/%3Cscript%3E/],
      ['/style.css', 200, /font: 1\.1rem/],
    ],
  }
  assertEquals(Object.keys(expected), TENANTS.map(({ name }) => name))
  for (const [name, requests] of Object.entries(expected)) {
    for (const [path, status, text] of requests) {
      const own = await get(site, `http://${name}.example.com${path}`)
      assertEquals(own.status, status, `${name} ${path}: ${own.text}`)
      assertMatch(own.text, text, `${name} ${path}`)
      const shown = await get(site, `${ORIGIN}/tenants/ask?tenant=${name}&path=${encodeURIComponent(path)}`)
      assertEquals([shown.status, shown.text], [own.status, own.text])
      assertEquals(shown.headers.get('content-type'), 'text/plain; charset=utf-8')
    }
  }
  // Other hosts are the site's own.
  assertStringIncludes((await get(site, 'http://other.example.com/')).text, '<title>A virtual machine')
})

testIsolated('a draft answers its visitor, and the tenant stays as it is', async () => {
  await using site = createSite({ production: true })
  const main = await readMain()
  const code = main.replace('} from ${ctx.props.tenant}!', '} from a draft, ${request.url}')
  assert(code !== main)
  const { status, answer } = await ask(site, { code, path: '/' })
  assertEquals(status, 200, answer.detail)
  assertEquals(answer.outcome, 'answered')
  assertMatch(answer.verdict!, /^Answered 200 after [\d.]+ ms/)
  assertMatch(answer.text!, /^content-type: text\/plain.*\n\nHello from a draft, http:\/\/acme\.localhost\/$/)
  assertEquals((await get(site, 'http://acme.localhost/')).text, 'Hello from acme!')
  assertEquals(await readMain(), main)
  const hostile: readonly [string, string, RegExp][] = [
    ['export default { fetch() { for (;;); } }', 'limit', /^TimeoutError/],
    ['export default { fetch() { throw new TypeError("mine") } }', 'threw', /^TypeError: mine/],
    ['export default { async fetch() { await fetch("http://127.0.0.1/") } }', 'threw', /network|outbound/],
    ['export default { fetch: () => new Response("x".repeat(1 << 20)) }', 'limit', /^OutputError/],
    ['export default {', 'threw', /^SyntaxError/],
    ['export default {}', 'threw', /fetch/],
    [
      'import fs from "node:fs"; export default { fetch: () => fs.readFileSync("/etc/passwd") }',
      'threw',
      /./,
    ],
  ]
  for (const [code, outcome, text] of hostile) {
    const { status, answer } = await ask(site, { code, path: '/' })
    assertEquals([status, answer.outcome], [200, outcome], `${code}: ${answer.text ?? answer.detail}`)
    assertMatch(answer.text!, text, code)
  }
  // Nothing of one draft is there in the next.
  const count =
    'let count = 0; export default { fetch: () => new Response(String(globalThis.kept = ++count)) }'
  for (let at = 0; at < 3; at++) {
    assertMatch((await ask(site, { code: count, path: '/' })).answer.text!, /\n1$/)
  }
})

Deno.test({
  name: 'the page of tenants in Chromium',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    if (MISSING !== '' || !await hasChromium()) return
    await using stage = await openStage({})
    for (const look of [LOOKS[0], LOOKS[3]]) {
      await t.step(look!.name, async () => {
        await using watched = await openPage(stage, look)
        const { page, faults } = watched
        const says = (selector: string, pattern: string) =>
          page.waitForFunction(inPage.says, { selector, pattern }, { timeout: START_MS })
        await page.goto('/tenants')
        await page.locator('.tries[data-taken]').first().waitFor()
        const first = '/tenants/ask?tenant=notes&path=%2Frivers%2Fisar'
        await page.click(`a[href="${first}"]`)
        await says(`li:has(> a[href="${first}"]) .answer`, '^200 [^]*<h1>Isar</h1>')
        assertEquals(await page.locator('.answer h1').count(), 0)
        await page.locator('.cm-content').waitFor()
        await page.click('#ask')
        await says('#answer', 'Hello from acme!')
        assertEquals(await page.locator('#machines').isVisible(), false)
        await page.locator('.cm-content').click()
        await page.keyboard.press('Control+A')
        await page.keyboard.insertText(
          'export default { fetch: (r: Request) => { console.log("seen"); return new Response("mine: " + r.url) } }',
        )
        await page.fill('#path', '/here')
        await page.press('#path', 'Enter')
        await says('#answer', 'mine: http://acme\\.localhost/here')
        await says('#console', '^seen')
        assertEquals(await page.evaluate(inPage.contrastFaults), [])
        assert(await page.evaluate(inPage.overflow) <= 0)
        assertEquals(faults, [])
        // The host itself, in the browser; the page's draft is not there.
        await page.goto(await page.locator('h2 a').first().getAttribute('href') ?? '')
        assertEquals(await page.locator('body').innerText(), 'Hello from acme!')
        await page.goto(page.url().replace('acme', 'notes'))
        assertEquals(await page.locator('h1').innerText(), 'Field notes')
        assertEquals(await page.evaluate(inPage.contrastFaults), [])
      })
    }
    await t.step('without scripts the form asks a draft', async () => {
      const context = await stage.browser.newContext({ baseURL: stage.origin, javaScriptEnabled: false })
      const page = await context.newPage()
      await page.goto('/tenants')
      await page.fill('#code', 'export default { fetch: () => new Response("<b>bold</b>") }')
      await page.click('#ask')
      assertMatch(await page.locator('#verdict').innerText(), /^Answered 200/)
      assertMatch(await page.locator('#answer').innerText(), /<b>bold<\/b>/)
      assertEquals(await page.locator('#answer b').count(), 0)
      await context.close()
    })
  },
})
