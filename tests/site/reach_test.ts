/** The page of reach: an isolated route asks the second server and nobody else, and a kept program counts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { openNeighbour } from '../../routes/_lib/reach/neighbour.ts'
import { createSite } from '../../routes/_site.ts'
import { MISSING, testIsolated } from '../isolated/fixture.ts'
import { isQuick } from '../tiers.ts'
import { hasChromium, LOOKS, openPage, openStage } from './browser.ts'
import * as inPage from './in_page.js'

const ORIGIN = 'http://localhost'
const START_MS = 300_000

type Site = ReturnType<typeof createSite>

async function get(site: Site, path: string): Promise<{ status: number; text: string }> {
  const response = await site.fetch(new Request(ORIGIN + path, { headers: { accept: 'application/json' } }))
  return { status: response.status, text: await response.text() }
}

const toAsk = (url: string) => `/reach/ask?url=${encodeURIComponent(url)}`

Deno.test('the second server wants the key that only the host has', async () => {
  await using neighbour = openNeighbour()
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(neighbour.origin + path, init)
    await response.body?.cancel()
    return response.status
  }
  assertEquals([await ask('/time'), await ask('/else')], [401, 404])
  const headers = neighbour.outbound.headers![neighbour.origin] as Record<string, string>
  assertEquals(await ask('/time', { headers }), 200)
  assertEquals(await ask('/time', { method: 'POST', headers }), 404)
})

Deno.test('without machines and without a second server the page says so', async () => {
  await using site = createSite({ production: true, isolate: false })
  const { text } = await get(site, '/reach')
  assertStringIncludes(text, 'was started without its second server')
  assertStringIncludes(text, 'without virtual machines')
  for (const path of ['/reach/count', toAsk('http://127.0.0.1/')]) {
    const { status, text } = await get(site, path)
    assertEquals([status, JSON.parse(text).type], [503, 'isolation-unavailable'])
  }
})

testIsolated(
  'the isolated page reaches what is listed and is refused the rest, and the counter counts on',
  async () => {
    await using neighbour = openNeighbour()
    await using site = createSite({ production: true, neighbour })
    const ask = async (url: string) => JSON.parse((await get(site, toAsk(url))).text)
    const first = await ask(`${neighbour.origin}/time`)
    assertEquals(first.status, 200)
    const { time, asked } = JSON.parse(first.body)
    assert(Math.abs(Date.parse(time) - Date.now()) < 60_000, time)
    assertEquals(JSON.parse((await ask(`${neighbour.origin}/time`)).body).asked, asked + 1)
    assertEquals((await ask(`${neighbour.origin}/else`)).status, 404)
    // The key is in no answer.
    const { authorization } = neighbour.outbound.headers![neighbour.origin] as Record<string, string>
    assert(!JSON.stringify(first).includes(authorization!.slice('Bearer '.length)))
    const { port } = new URL(neighbour.origin)
    const elsewhere = [
      'http://127.0.0.1:22/',
      'http://0x7f.1/',
      `http://[::1]:${port}/time`,
      `http://localhost:${port}/time`,
      'http://169.254.169.254/latest/meta-data/',
      'https://example.com/',
    ]
    for (const url of elsewhere) assertMatch((await ask(url)).refused, /may not reach|Cannot/, url)
    for (const url of ['', 'no address', 'file:///etc/passwd']) {
      assert(
        (await ask(url)).refused.length > 0,
        url,
      )
    }
    for (let at = 0; at < 3; at++) {
      assertEquals((await get(site, '/reach/count')).text, `Hello ${33436184 + at} World!`)
    }
    const many = await Promise.all(Array.from({ length: 10 }, () => get(site, '/reach/count')))
    assertEquals(
      many.map(({ text }) => text).sort(),
      many.map((_, at) => `Hello ${33436187 + at} World!`),
    )
    assertEquals(JSON.parse((await get(site, '/isolated/counter')).text), { count: 1 })
    const clock = await site.fetch(new Request(`${ORIGIN}/reach/clock`))
    assertEquals([clock.status, clock.headers.get('content-type')], [200, 'text/event-stream'])
    const reader = clock.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (let id = 1; id <= 3; id++) {
      const { value } = await reader.read()
      const [, said, iso] = /^event: tick\nid: (\d+)\ndata: \{"iso":"([^"]+)"\}\n\n$/.exec(value!)!
      assertEquals(Number(said), id)
      assert(Math.abs(Date.parse(iso!) - Date.now()) < 60_000, iso)
    }
    await reader.cancel()
  },
)

Deno.test({
  name: 'the page of reach in Chromium',
  ignore: isQuick(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    if (MISSING !== '' || !await hasChromium()) return
    await using neighbour = openNeighbour()
    await using stage = await openStage({ neighbour })
    for (const look of [LOOKS[0], LOOKS[3]]) {
      await using watched = await openPage(stage, look)
      const { page, faults } = watched
      const call = async (link: string, pattern: string) => {
        await page.click(`.tries ${link}`)
        const selector = `.tries li:has(> ${link}) .answer`
        await page.waitForFunction(inPage.says, { selector, pattern }, { timeout: START_MS })
        return await page.locator(selector).innerText()
      }
      await page.goto('/reach')
      await page.locator('.tries[data-taken]').first().waitFor()
      await call('a[href$="%2Ftime"]', '^200 [^]*"status": 200')
      await call('a[href$="example.com%2F"]', '^200 [^]*"refused": ')
      const numberOf = (text: string) => Number(/Hello (\d+) World!/.exec(text)?.[1])
      const count = numberOf(await call('a[href="/reach/count"]', '^200 [^]*Hello '))
      await page.reload()
      await page.locator('.tries[data-taken]').first().waitFor()
      assertEquals(numberOf(await call('a[href="/reach/count"]', '^200 [^]*Hello ')), count + 1)
      await call('a[href="/isolated/counter"]', '"count": 1')
      await page.fill('#url', 'http://10.0.0.1/')
      await page.press('#url', 'Enter')
      const selector = '.tries li:has(> a[data-own]) .answer'
      await page.waitForFunction(inPage.says, { selector, pattern: 'refused' })
      const clock = '#clock'
      await page.waitForFunction(inPage.says, { selector: '#clock-state', pattern: 'Tick \\d+$' })
      const early = await page.locator(clock).innerText()
      assertMatch(early, /^\d\d:\d\d:\d\d$/)
      await page.waitForFunction(inPage.says, { selector: clock, pattern: `^(?!${early})` })
      assertEquals(await page.locator('#machines').isVisible(), false)
      assertEquals(faults, [])
      assertEquals(await page.evaluate(inPage.contrastFaults), [])
      assert(await page.evaluate(inPage.overflow) <= 0)
    }
  },
})
