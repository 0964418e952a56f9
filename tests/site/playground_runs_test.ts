/** The playground with machines: each sample gives what it promises, also in Chromium. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import type { Attempt } from '../../routes/_lib/playground/attempt.ts'
import { findSample, SAMPLES } from '../../routes/_lib/playground/samples.ts'
import { createSite } from '../../routes/_site.ts'
import { testIsolated } from '../isolated/fixture.ts'
import { hasChromium, LOOKS, openPage, openStage } from './browser.ts'
import * as inPage from './in_page.js'
import { isQuick } from '../tiers.ts'

const ORIGIN = 'http://localhost'
const START_MS = 300_000

interface Expected {
  readonly outcome: Attempt['outcome']
  readonly text: RegExp
  readonly logs?: RegExp
  readonly limit?: string | readonly string[]
}

/** What every sample promises. */
const PROMISES: Readonly<Record<string, Expected>> = {
  hello: {
    outcome: 'answered',
    text: /hello: "from a virtual machine"/,
    logs: /^This line is the console\n$/,
  },
  counter: { outcome: 'answered', text: /^1$/ },
  types: { outcome: 'answered', text: /^"2 items, 7\.7 euros"$/ },
  webhook: { outcome: 'answered', text: /ada pushed to main[^]*6d39bda Fix the engine/ },
  values: {
    outcome: 'answered',
    text: /Set\(4\) \{ 2, 3, 5, 7 \}[^]*1267650600228229401496703205376n[^]*Circular/,
  },
  node: { outcome: 'answered', text: /sha256: "[0-9a-f]{64}"[^]*700 -> \d+ bytes/ },
  error: {
    outcome: 'threw',
    text: /^TypeError: .*\n {4}at first \(main\.ts:3:\d+\)\n {4}at (?:Object\.)?default \(main\.ts:7:\d+\)$/,
    logs: /before the error/,
  },
  loop: {
    outcome: 'limit',
    limit: ['cpuMs', 'timeoutMs'],
    text: /^TimeoutError: .* (?:500|2000) ms$/,
    logs: /^Here I go\n$/,
  },
  memory: { outcome: 'limit', limit: 'memoryMb', text: /^MemoryError: .* 32 MiB$/ },
  poison: { outcome: 'answered', text: /\[ "undefined", false \][^]*\[ "poisoned" \]/ },
  environment: { outcome: 'answered', text: /^\{ NODE_ENV: "production" \}$/ },
  file: { outcome: 'threw', text: /^(?:NotFound|NotCapable): / },
  fetch: { outcome: 'threw', text: /network/ },
  process: { outcome: 'threw', text: /sh'?/ },
  timers: { outcome: 'limit', limit: ['cpuMs', 'timeoutMs', 'memoryMb'], text: /^(?:Timeout|Memory)Error: / },
  flood: {
    outcome: 'limit',
    limit: ['cpuMs', 'timeoutMs', 'systemCalls'],
    text: /Error: /,
    logs: /^line 1 x/,
  },
  answer: { outcome: 'limit', limit: ['outputBytes', 'valueBytes'], text: /^OutputError: / },
  markup: { outcome: 'answered', text: /<img src=x onerror=alert\("answer"\)>/, logs: /<script>alert/ },
  exit: { outcome: 'ended', text: /status 1/ },
}

testIsolated('each sample gives what it promises, and the next run finds a clean machine', async () => {
  await using site = createSite({ production: true })
  let clients = 0
  const run = async (code: string, language: string): Promise<Attempt> => {
    for (;;) {
      const response = await site.fetch(
        new Request(`${ORIGIN}/playground/run`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body: JSON.stringify({ code, language }),
        }),
        // Another address for every run: the limit by address has a test of its own.
        { remoteAddr: { transport: 'tcp', hostname: `10.0.${clients >> 8}.${clients++ & 255}`, port: 1 } },
      )
      const body = await response.json()
      if (response.status === 503 && body.type === 'isolation-starting') {
        await new Promise((resolve) => setTimeout(resolve, 200))
        continue
      }
      assertEquals(response.status, 200, JSON.stringify(body))
      return body
    }
  }
  assertEquals(Object.keys(PROMISES).sort(), SAMPLES.map(({ id }) => id).sort())
  for (const { id, code, language } of SAMPLES) {
    const { outcome, text, logs, limit, cost, verdict } = await run(code, language)
    const expected = PROMISES[id]!
    assertEquals(outcome, expected.outcome, `${id}: ${text}`)
    assertMatch(text, expected.text, id)
    if (expected.logs !== undefined) assertMatch(logs, expected.logs)
    if (expected.limit !== undefined) {
      assert([expected.limit].flat().includes(limit!.name), `${id}: ${limit!.name}`)
    }
    assert(text.length <= 20_100 && logs.length <= 16 << 10 && verdict.length < 200, id)
    assert(cost!.run > 0 && cost!.reset > 0 && cost!.pages > 0, id)
    if (outcome === 'answered') assert(cost!.load! > 0 && cost!.load! <= cost!.run, id)
    const clean = await run(findSample('poison').code, 'js')
    assertMatch(clean.text, PROMISES.poison!.text, `behind ${id}`)
  }
})

Deno.test({
  name: 'the playground in Chromium',
  ignore: isQuick(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const { MISSING } = await import('../isolated/fixture.ts')
    if (MISSING !== '' || !await hasChromium()) return
    await using stage = await openStage({})
    for (const look of [LOOKS[0], LOOKS[3]]) {
      await t.step(look.name, async () => {
        await using watched = await openPage(stage, look)
        const { page, context, faults } = watched
        const says = (selector: string, pattern: string, timeout = 30_000) =>
          page.waitForFunction(inPage.says, { selector, pattern }, { timeout })
        await page.goto('/')
        await page.click('.hero .button >> nth=0')
        await page.waitForURL('**/playground')
        await page.locator('#playground[data-phase="ready"]').waitFor({ timeout: START_MS })
        await page.locator('.cm-content').waitFor()
        assertEquals(await page.evaluate(inPage.contrastFaults), [])
        // On a busy machine the first run may take longer than a visitor's program may.
        for (const end = Date.now() + START_MS;;) {
          await page.click('#run')
          const answered = await says('#verdict', '^Answered after ').then(() => true, () => false)
          if (answered) break
          // It said so, and the next run is another.
          faults.length = 0
          assert(Date.now() < end, await page.locator('#verdict').innerText())
        }
        await says('#answer', 'from a virtual machine')
        await says('#console', 'This line is the console')
        await says('[data-cost="load"]', ' ms$')
        await says('[data-cost="pages"]', '^\\d+$')
        // By keyboard, in the editor, a program of one's own.
        await page.locator('.cm-content').click()
        await page.keyboard.press('Control+A')
        await page.keyboard.type('export default (): string => `${6 * 7}`')
        await says('#promise', 'Your own program')
        await page.check('[name="language"][value="ts"]')
        await page.locator('.cm-content').click()
        await page.keyboard.press('Control+Enter')
        await says('#answer', '^"42"$')
        // A link gives the program to another visitor, and does not run it.
        await page.click('#share')
        await page.waitForURL(/#ts\./)
        const other = await context.newPage()
        await other.goto(page.url())
        await other.waitForFunction(inPage.says, { selector: '.cm-content', pattern: '6 \\* 7' })
        assertMatch(await other.locator('#promise').innerText(), /came with the link/)
        assertMatch(await other.locator('#verdict').innerText(), /Nothing has run/)
        assert(await other.locator('[name="language"][value="ts"]').isChecked())
        await other.close()
        // Samples move nothing on the page, and what they give is text.
        const top = async () =>
          (await page.locator('#answer').boundingBox())!.y + await page.evaluate(inPage.scrolled)
        const before = await top()
        for (
          const [id, verdict] of [['markup', '^Answered'], ['loop', '^Stopped at the limit '], [
            'error',
            '^Threw TypeError',
          ]]
        ) {
          await page.click(`[data-sample="${id}"]`)
          await page.click('#run')
          await says('#verdict', verdict)
          if (id === 'markup') assertEquals(await page.locator('#answer img, #console script').count(), 0)
          assertEquals(await top(), before, id)
          assert(await page.evaluate(inPage.overflow) <= 0, id)
        }
        assertEquals(await page.evaluate(inPage.contrastFaults), [])
        assertEquals(faults, [])
      })
    }
    await t.step('without scripts the form runs a program, and escapes what it gives', async () => {
      const context = await stage.browser.newContext({ baseURL: stage.origin, javaScriptEnabled: false })
      const page = await context.newPage()
      await page.goto('/playground?sample=markup')
      await page.click('#run')
      assertMatch(await page.locator('#verdict').innerText(), /^Answered after/)
      assertMatch(await page.locator('#answer').innerText(), /<img src=x/)
      assertEquals(await page.locator('#answer img, #console script').count(), 0)
      await context.close()
    })
  },
})
