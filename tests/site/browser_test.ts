import { assert, assertEquals, assertMatch } from '@std/assert'
import type { Page } from 'playwright-core'
import { hasChromium, type Look, LOOKS, openPage, openStage, type Stage } from './browser.ts'
import * as inPage from './in_page.js'
import { PAGES } from './pages.ts'

/** Set to a folder to keep a picture of every page in every look. */
const PICTURES = Deno.env.get('SITE_PICTURES')

type Scene = (t: Deno.TestContext, stage: Stage) => Promise<void>

Deno.test({
  name: 'the example site in Chromium',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    if (!await hasChromium()) return
    await using stage = await openStage()
    const scenes: Record<string, Scene> = {
      'every page is sound in every look': everyPage,
      'the checks of a page find what is wrong with it': checksAreAwake,
      'the keyboard reaches the navigation with a visible focus': keyboard,
      'the contents open and close by keyboard': contents,
      'the theme toggles and stays': theme,
      'requests to try show their answers': tries,
      'an answer stands right below its request, on a phone too': answerPlace,
      'docs have a list and contents that stay, a search, and neighbours': docs,
      'the preview takes the theme of the page': previewTheme,
      'the pair asks for the page, and says where there are no machines': pair,
      'a template renders while you write it, and shows errors': template,
      'the guestbook keeps an entry and refuses a forged one': guestbook,
      'the rows of the streamed page arrive one by one': streaming,
      'the clock ticks': clock,
      'the WebSocket echoes': echo,
      'the pool answers while the page pings': workers,
      'the home page logs a request as it happens': liveLog,
      'events arrive live': liveEvents,
      'the pages work without scripts': withoutScripts,
      'nothing moves for those who want no motion': reducedMotion,
    }
    for (const [name, scene] of Object.entries(scenes)) await t.step(name, () => scene(t, stage))
  },
})

async function everyPage(_t: Deno.TestContext, stage: Stage): Promise<void> {
  const problems = await Promise.all(LOOKS.map((look) => problemsOf(stage, look)))
  assertEquals(problems.flat(), [])
}

async function problemsOf(stage: Stage, look: Look): Promise<string[]> {
  const problems: string[] = []
  await using watched = await openPage(stage, look)
  const { page, faults } = watched
  for (const { path, title } of PAGES) {
    const say = (problem: string) => problems.push(`${look.name} ${path}: ${problem}`)
    await page.goto(path, { waitUntil: 'load' })
    if (await page.title() !== `${title} · Mayfly`) say(`its title is ${await page.title()}`)
    for (
      const landmark of ['header.site-header', 'nav[aria-label="Main"]', 'main', 'footer.site-footer', 'h1']
    ) {
      if (await page.locator(landmark).count() !== 1) say(`want one ${landmark}`)
    }
    for (const fault of await looksOf(page)) say(fault)
    if (PICTURES !== undefined) await keepPicture(page, look, path)
  }
  return [...problems, ...faults.map((fault) => `${look.name}: ${fault}`)]
}

async function looksOf(page: Page): Promise<string[]> {
  const overflow = await page.evaluate(inPage.overflow)
  const faults = await page.evaluate(inPage.contrastFaults)
  for (const block of await page.evaluate(inPage.escapedSources)) {
    faults.push(`its source leaves its frame: ${block}`)
  }
  const widest = await page.evaluate(inPage.widestSource)
  if (widest > 1) faults.push(`a line of source is ${widest} px wider than its frame`)
  return overflow > 0 ? [`it is ${overflow} px wider than the window`, ...faults] : faults
}

async function keepPicture(page: Page, look: Look, path: string): Promise<void> {
  await page.waitForTimeout(path === '/' ? 2200 : 100)
  await page.screenshot({ path: `${PICTURES}/${look.name}${path.replaceAll('/', '-')}.png`, fullPage: true })
}

/** The checks above are worth something only if they find what they look for. */
async function checksAreAwake(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage, LOOKS[2])
  const { page, faults } = watched
  await page.goto('/sse')
  assertEquals(await looksOf(page), [])
  await page.evaluate(inPage.spoil)
  assertEquals(await looksOf(page), ['it is 640 px wider than the window', 'contrast 1.61 of "pale"'])
  await page.waitForFunction(inPage.says, { selector: 'body', pattern: 'pale' })
  assertEquals(faults.length >= 3, true)
  const kinds = new Set(faults.map((fault) => fault.slice(0, fault.indexOf(':'))))
  assertEquals([...kinds].sort(), ['answer', 'console'])
  assert(faults.some((fault) => fault.includes('Content Security Policy')))
}

async function keyboard(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page } = watched
  await page.goto('/routing')
  const reached: string[] = []
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press('Tab')
    const { name, outline, inView } = await page.evaluate(inPage.focused)
    reached.push(name)
    assert(outline >= 2, `the focus on ${name} has an outline of ${outline} px`)
    assert(inView, `the focus on ${name} is out of view`)
  }
  assertEquals(reached, [
    'Skip to content',
    'Mayfly',
    'Tour',
    'Playground',
    'Isolation',
    'Benchmark',
    'Docs',
    'Switch between light and dark',
  ])
  await page.goto('/routing')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assertEquals((await page.evaluate(inPage.focused)).id, 'main')
}

async function contents(_t: Deno.TestContext, stage: Stage): Promise<void> {
  for (const look of [LOOKS[0], LOOKS[2]]) {
    await using watched = await openPage(stage, look)
    const { page } = watched
    await page.goto('/sse')
    await page.locator('.contents summary').focus()
    await page.keyboard.press('Enter')
    const list = page.locator('.contents > ol')
    await list.waitFor({ state: 'visible' })
    const box = (await list.boundingBox())!
    assert(
      box.x >= 0 && box.x + box.width <= look.width,
      `the contents reach from ${box.x} over ${box.width} px`,
    )
    assertEquals(await list.locator('a').count(), 16)
    assertEquals(
      await list.locator('[aria-current="page"]').innerText().then((text) => text.includes('sent')),
      true,
    )
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'hidden' })
    assertEquals((await page.evaluate(inPage.focused)).tag, 'SUMMARY')
  }
}

async function theme(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/')
  const paper = () => page.evaluate(inPage.paper)
  const light = await paper()
  await page.click('#theme')
  const dark = await paper()
  assert(light !== dark)
  await page.goto('/docs')
  assertEquals(await paper(), dark)
  await page.click('#theme')
  assertEquals(await paper(), light)
  assertEquals(faults, [])
}

/** Opens a page with requests to try. Links with `data-call` wait for a script of their own: a click before it leaves the page. */
async function openTries(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await page.locator('.tries:not(:has(a[data-call])), .tries[data-taken]').first().waitFor()
}

async function tries(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page } = watched
  const answer = async (path: string, index: number): Promise<string> => {
    if (new URL(page.url(), stage.origin).pathname !== path) await openTries(page, path)
    const own = `.tries > li:nth-child(${index + 1}) .answer`
    if (await page.locator(own).count() > 0) await page.evaluate(inPage.empty, own)
    await page.locator('.tries a').nth(index).click()
    await page.waitForFunction(inPage.says, { selector: own, pattern: '.' })
    return await page.locator(own).innerText()
  }
  assertMatch(await answer('/routing', 0), /^200 OK[^]*\{"user":"42"\}/)
  assertMatch(await answer('/routing', 7), /^405 [^]*allow: GET, HEAD, OPTIONS, PUT/)
  assertMatch(await answer('/routing', 9), /^400 /)
  assertMatch(await answer('/context', 1), /^201 [^]*x-wings: 4[^]*"wings":4/)
  assertMatch(await answer('/files', 0), /^200 [^]*Field notes/)
  assertMatch(await answer('/files', 1), /^206 [^]*content-range: bytes 0-63\//)
  assertMatch(await answer('/files', 3), /^206 [^]*multipart\/byteranges/)
  assertMatch(await answer('/files', 4), /^304 /)
  assertMatch(await answer('/files', 6), /^416 /)
  assertMatch(await answer('/files', 7), /^404 /)
  assertMatch(await answer('/middleware', 1), /^401 [^]*www-authenticate: Bearer/)
  assertMatch(await answer('/middleware', 2), /^200 /)
  assertMatch(await answer('/middleware', 4), /^422 /)
  for (let i = 0; i < 3; i++) assertMatch(await answer('/middleware', 0), /^200 /)
  assertMatch(await answer('/middleware', 0), /^429 [^]*retry-after/)
  assertMatch(await answer('/errors', 0), /^418 [^]*application\/problem\+json/)
  assertMatch(await answer('/errors', 1), /^418 [^]*<!doctype html>/)
}

async function answerPlace(_t: Deno.TestContext, stage: Stage): Promise<void> {
  for (const look of [LOOKS[0], LOOKS[2]]) {
    await using watched = await openPage(stage, look)
    const { page } = watched
    for (const path of ['/routing', '/isolated']) {
      await openTries(page, path)
      for (const index of [1, 3]) {
        await page.locator('.tries a').nth(index - 1).click()
        const selector = `.tries > li:nth-child(${index})`
        await page.waitForFunction(inPage.says, { selector: `${selector} .answer`, pattern: '^\\d{3} ' })
        const link = (await page.evaluate(inPage.placeOf, `${selector} a`))!
        const answer = (await page.evaluate(inPage.placeOf, `${selector} .answer`))!
        assert(Math.abs(answer.top - link.bottom) < 2, `${path}: ${answer.top - link.bottom} px below`)
        assert(answer.top < look.height, `${path}: the answer begins at ${answer.top} of ${look.height}`)
      }
    }
  }
}

async function docs(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using wide = await openPage(stage)
  const { page } = wide
  await page.goto('/docs/isolate/readme')
  await page.evaluate(inPage.scrollDown, 3000)
  for (const selector of ['.docs-list', '.docs-toc']) {
    const place = (await page.evaluate(inPage.placeOf, selector))!
    assert(place.top >= 0 && place.bottom <= LOOKS[0].height + 1, `${selector}: ${JSON.stringify(place)}`)
  }
  await page.waitForFunction(inPage.hasAtLeast, { selector: '.docs-toc [data-read]', count: 1 })
  await page.fill('.docs-list [type=search]', 'reset pages')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/search\?q=reset/)
  assertEquals(await page.title(), 'Search the docs · Mayfly')
  await page.locator('.hits a').first().click()
  await page.waitForURL(/\/docs\/.+#./)
  await page.goto('/docs/isolate/readme')
  const next = await page.locator('.pager .next .name').innerText()
  await page.click('.pager .next')
  await page.waitForFunction(inPage.says, { selector: 'title', pattern: '· Mayfly$' })
  await page.locator('.prose h1', { hasText: next }).waitFor()
  await using phone = await openPage(stage, LOOKS[2])
  await phone.page.goto('/docs/isolate/readme')
  await phone.page.evaluate(inPage.scrollDown, 3000)
  assertEquals((await phone.page.evaluate(inPage.placeOf, '.on-page'))!.top, 0)
  await phone.page.click('.on-page summary')
  await phone.page.locator('.on-page a').nth(2).click()
  assertEquals([...wide.faults, ...phone.faults], [])
}

async function previewTheme(_t: Deno.TestContext, stage: Stage): Promise<void> {
  for (const look of LOOKS.slice(0, 2)) {
    await using watched = await openPage(stage, look)
    const { page } = watched
    await page.goto('/templates')
    const scheme = () => page.frames()[1].evaluate(inPage.schemeOf)
    assertEquals(await scheme(), look.scheme)
    const other = look.scheme === 'light' ? 'dark' : 'light'
    await page.click('#theme')
    await page.frameLocator('iframe').locator(`meta[content="${other}"]`).waitFor({ state: 'attached' })
    assertEquals(await scheme(), other)
    await page.reload()
    assertEquals(await scheme(), other)
  }
}

async function pair(_t: Deno.TestContext, stage: Stage): Promise<void> {
  for (const look of [LOOKS[0], LOOKS[2]]) {
    await using watched = await openPage(stage, look)
    const { page } = watched
    await page.goto('/')
    const place = (await page.evaluate(inPage.placeOf, '.sides'))!
    assert(place.bottom <= look.height, `the pair ends at ${place.bottom} of ${look.height}`)
    assertMatch(await page.locator('#machines').innerText(), /without virtual machines/)
    await page.click('[data-times="1"]')
    await page.waitForFunction(inPage.says, {
      selector: '[data-side="/isolated/here"] .count',
      pattern: '^\\d+$',
    })
    assertEquals(await page.locator('.own .cost').innerText(), 'It answered 503')
  }
}

async function template(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/templates')
  assertEquals(await page.frameLocator('iframe').locator('h1').innerText(), 'Ephemera <danica>')
  await page.fill('#template', '<p>{{ 6 * 7 }} {{ name }}</p>{{{ raw }}}')
  await page.fill('#data', '{"name":"<i>","raw":"<script>parent.stolen = 1</script><b>raw</b>"}')
  await page.waitForFunction(inPage.says, { selector: '#markup code', pattern: '^<p>42 &lt;i&gt;</p>' })
  assertEquals(await page.frameLocator('iframe').locator('b').innerText(), 'raw')
  assertEquals(await page.evaluate(inPage.isStolen), false)
  // The frame's script is refused, and the browser says so: that is the point.
  assertEquals(faults.filter((fault) => !/srcdoc|sandbox/i.test(fault)), [])
  await page.fill('#template', 'one\n{{#if x}}two')
  await page.locator('#failed').waitFor({ state: 'visible' })
  assertMatch(await page.locator('.template-error').innerText(), /line 2, column 1\n.*\n\^/)
  await page.locator('#markup').waitFor({ state: 'hidden' })
}

async function guestbook(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage, LOOKS[2])
  const { page, faults } = watched
  await page.goto('/guestbook')
  await page.click('text=Sign the book')
  assertEquals(await page.locator('.field-error').count(), 2)
  assertEquals(await page.locator('#name').getAttribute('aria-invalid'), 'true')
  await page.fill('#name', 'Ada')
  await page.fill('#message', 'One day is enough')
  await page.click('text=Sign the book')
  assertMatch(await page.locator('.flash').innerText(), /^Thank you, Ada/)
  assertEquals(await page.locator('.entries p').first().innerText(), 'One day is enough')
  await page.reload()
  assertEquals(await page.locator('.flash').count(), 0)
  assertEquals(await page.inputValue('#name'), 'Ada')
  assertEquals(faults.filter((fault) => !fault.includes('422')), [])
  await page.click('text=Send without a token')
  assertEquals(await page.locator('h1').innerText(), 'Forbidden')
  await page.goto('/guestbook')
  assertEquals(await page.locator('.entries li').count(), 1)
  await page.click('text=Forget my name')
  assertEquals(await page.inputValue('#name'), '')
}

async function streaming(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/streaming', { waitUntil: 'commit' })
  await page.waitForFunction(inPage.hasAtLeast, { selector: '#rows tbody tr', count: 2 })
  const early = await page.locator('#rows tbody tr').count()
  const state = await page.evaluate(inPage.readyState)
  assert(early < 16, `${early} rows were there at once`)
  assertEquals(state, 'loading')
  await page.waitForLoadState('load')
  assertEquals(await page.locator('#rows tbody tr').count(), 16)
  assertEquals(await page.locator('footer').count(), 1)
  assertEquals(faults, [])
}

async function clock(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/sse')
  await page.waitForFunction(inPage.says, { selector: '#clock-state', pattern: 'Tick [2-9]' })
  assertMatch(await page.locator('#clock').innerText(), /^\d\d:\d\d:\d\d$/)
  assertEquals(faults, [])
}

async function echo(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/websocket')
  await page.locator('#say button:enabled').waitFor()
  await page.fill('#words', 'up and down')
  await page.keyboard.press('Enter')
  await page.locator('.theirs').waitFor()
  assertEquals(await page.locator('.theirs').innerText(), 'up and down')
  assertMatch(await page.locator('#trip').innerText(), /^Round trip: \d+\.\d ms$/)
  assertEquals(faults, [])
}

async function workers(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/workers')
  const run = async (label: string): Promise<string> => {
    await page.click(`text=${label}`)
    await page.waitForFunction(inPage.says, { selector: '#verdict', pattern: ' in all$' })
    const verdict = await page.locator('#verdict').innerText()
    await page.evaluate(inPage.empty, '#verdict')
    return verdict
  }
  assertMatch(await run('Eight in the pool'), /8 done, 0 refused/)
  assertEquals(await page.locator('.tasks .done').count(), 8)
  const pooled = Number(await page.locator('#pings').innerText())
  assert(pooled > 1, `${pooled} pings were answered while the pool worked`)
  assertMatch(await run('Eight on the main thread'), /8 done, 0 refused/)
  assertMatch(await run('Forty at once'), /16 done, 24 refused/)
  assertEquals(faults, [])
}

async function liveLog(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/')
  await page.waitForFunction(inPage.says, { selector: '#total', pattern: '\\d ms$' })
  await page.locator('#log tr.fade').first().waitFor()
  await visitElsewhere(stage, '/routing/greet/Log')
  await page.locator('#log td', { hasText: '/routing/greet/Log' }).waitFor()
  assertEquals(faults, [])
}

async function liveEvents(_t: Deno.TestContext, stage: Stage): Promise<void> {
  await using watched = await openPage(stage)
  const { page, faults } = watched
  await page.goto('/events')
  await page.waitForFunction(inPage.says, { selector: '#feed-state', pattern: '^Live' })
  await visitElsewhere(stage, '/middleware/token')
  await page.locator('.feed .kind', { hasText: 'auth:failed' }).first().waitFor()
  assertEquals(faults, [])
}

async function withoutScripts(_t: Deno.TestContext, stage: Stage): Promise<void> {
  const context = await stage.browser.newContext({ baseURL: stage.origin, javaScriptEnabled: false })
  const page = await context.newPage()
  try {
    await page.goto('/')
    assertEquals(await page.locator('#log tbody tr').count() > 0, true)
    assertEquals(await page.locator('#theme').isVisible(), false)
    await page.click('.contents summary')
    await page.click('.contents >> text=DVE templates')
    await page.fill('#template', '{{ 6 * 7 }}')
    await page.click('button >> text=Render')
    assertEquals(await page.locator('#markup code').innerText(), '42')
    await page.goto('/streaming')
    assertEquals(await page.locator('#rows tbody tr').count(), 16)
  } finally {
    await context.close()
  }
}

async function reducedMotion(_t: Deno.TestContext, stage: Stage): Promise<void> {
  const context = await stage.browser.newContext({ baseURL: stage.origin, reducedMotion: 'reduce' })
  try {
    const page = await context.newPage()
    await page.goto('/')
    assertEquals(await page.evaluate(inPage.animations), 0)
  } finally {
    await context.close()
  }
}

async function visitElsewhere(stage: Stage, path: string): Promise<void> {
  await (await fetch(stage.origin + path)).body?.cancel()
}
