import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import type { Page } from 'playwright-core'
import { createIsolation, recordIsolation, sayPhase } from '../../routes/_lib/isolation.ts'
import { createSite } from '../../routes/_site.ts'
import { checkKvmDevice } from '../../src/isolate/ffi/kvm_device.ts'
import { findCargo } from '../../src/isolate/ffi/build/toolchain.ts'
import { hasChromium, openPage, openStage } from './browser.ts'
import * as inPage from './in_page.js'

const ORIGIN = 'http://localhost'
const BOOT_MS = 300_000

function event(kind: LifecycleEvent['kind'], metadata: object): LifecycleEvent {
  return { kind, timestamp: 1, metadata } as LifecycleEvent
}

Deno.test('recordIsolation keeps the last twenty requests and how each ended', () => {
  const isolation = createIsolation(false)
  const cost = (runMicros: number) => ({
    program: 'a',
    vm: 1,
    queueMicros: 2.04,
    runMicros,
    resetMicros: 3,
    exits: 4,
    dirtyPages: 5,
  })
  for (let i = 0; i < 30; i++) recordIsolation(isolation, event('isolate:complete', cost(i)))
  assertEquals(isolation.runs.length, 20)
  assertEquals(isolation.runs[0], {
    id: 11,
    outcome: 'answered',
    vm: 1,
    queue: 2,
    run: 10,
    reset: 3,
    exits: 4,
    pages: 5,
  })
  for (const outcome of ['timeout', 'memory', 'crash'] as const) {
    recordIsolation(isolation, event('isolate:complete', cost(99.94)))
    recordIsolation(isolation, event(`isolate:${outcome}`, cost(99.94)))
    assertEquals(isolation.runs.at(-1)?.outcome, outcome)
    assertEquals(isolation.runs.at(-2)?.outcome === outcome, false)
  }
  assertEquals(isolation.total, 33)
})

Deno.test('recordIsolation follows the machines from the start to the snapshot', () => {
  const isolation = createIsolation(false)
  assertMatch(sayPhase(isolation), /cargo/)
  recordIsolation(isolation, event('isolate:boot', { program: 'a' }))
  assertEquals(isolation.phase, 'booting')
  recordIsolation(isolation, event('isolate:ready', { program: 'a', bootMs: 12.3 }))
  assertMatch(sayPhase(isolation), /^The machines run\. .* 12 ms/)
  recordIsolation(isolation, event('isolate:boot', { program: 'b' }))
  assertEquals(isolation.phase, 'booting')
  recordIsolation(isolation, event('route:error', { error: new Error('no') }))
  assertEquals(isolation.phase, 'ready')
  const broken = createIsolation(false)
  recordIsolation(broken, event('isolate:boot', { program: 'a' }))
  recordIsolation(broken, event('route:error', { error: new Error('no') }))
  assertMatch(sayPhase(broken), /did not boot/)
})

Deno.test('recordIsolation says what to do about what is missing, and names no folder', () => {
  const unavailable = (error: Error, instead = 'refuse') => {
    const isolation = createIsolation(false)
    recordIsolation(isolation, event('isolate:unavailable', { error, instead }))
    return isolation
  }
  const named = (name: string, message: string) => Object.assign(new Error(message), { name })
  const closed = unavailable(named('IsolationUnavailableError', '/dev/kvm does not exist: load kvm'))
  assertEquals(closed.phase, 'unavailable')
  assertMatch(sayPhase(closed), /503.*load kvm\.$/)
  const unbuilt = sayPhase(
    unavailable(named('NativeBuildError', 'Cannot keep the library /home/ann/lib.so')),
  )
  assertMatch(unbuilt, /install Rust/)
  assert(!unbuilt.includes('/home'))
  assertMatch(sayPhase(unavailable(new Error('/home/ann'))), /The log of the server says why\.$/)
  const workers = unavailable(named('IsolationUnavailableError', 'no kvm'), 'worker')
  assertEquals(workers.phase, 'waiting')
  recordIsolation(workers, event('isolate:ready', { program: 'a', bootMs: 12.3 }))
  assertMatch(sayPhase(workers), /worker processes run in their place.* no kvm\.$/)
})

Deno.test('without machines the isolation page says so and its routes answer 503', async () => {
  await using site = createSite({ production: true, isolate: false })
  const get = (path: string) =>
    site.fetch(new Request(ORIGIN + path, { headers: { accept: 'application/json' } }))
  for (const path of ['/isolated/counter', '/isolated/random', '/isolated/limits?try=exit']) {
    const response = await get(path)
    assertEquals([response.status, (await response.json()).type], [503, 'isolation-unavailable'])
  }
  const html = await (await get('/isolated')).text()
  assertStringIncludes(html, 'data-phase="off"')
  assertStringIncludes(html, 'without virtual machines')
  const { phase, runs } = await (await get('/isolated/runs')).json()
  assertEquals([phase, runs], ['off', []])
  const count = async () => (await (await get('/isolated/here')).json()).count
  const before = await count()
  assertEquals(await count(), before + 1)
})

Deno.test({
  name: 'the isolated pages in virtual machines, in Chromium',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    if (!await canIsolate() || !await hasChromium()) return
    await using stage = await openStage({})
    await using watched = await openPage(stage)
    const { page, faults } = watched
    await page.goto('/')
    // The pair asks three times by itself, as soon as the machines run.
    await page.waitForFunction(inPage.says, { selector: '.own .count', pattern: '^1$' }, { timeout: BOOT_MS })
    await page.waitForFunction(inPage.says, {
      selector: '#machine-cost',
      pattern: '^\\d.* µs in the machine',
    })
    assertEquals(await page.locator('#machines').isVisible(), false)
    const before = Number(await page.locator('[data-side="/isolated/here"] .count').innerText())
    assert(before >= 3, `${before} requests to this process`)
    await page.click('[data-times="20"]')
    await page.waitForFunction(inPage.says, {
      selector: '[data-side="/isolated/here"] .count',
      pattern: `^${before + 20}$`,
    })
    assertEquals(await page.locator('.own .count').innerText(), '1')
    await page.goto('/isolated')
    await page.locator('#pair:not([aria-busy])').waitFor()
    await page.waitForFunction(inPage.says, { selector: '#machine-cost', pattern: 'µs' })
    const kept = JSON.parse((await call(page, '/isolated/here')).split('\n\n')[1]).count
    for (let i = 1; i <= 3; i++) {
      assertMatch(await call(page, '/isolated/counter'), /^200 [^]*"count": 1\n/)
      assertMatch(await call(page, '/isolated/here'), new RegExp(`^200 [^]*"count": ${kept + i}\n`))
    }
    const first = randomOf(await call(page, '/isolated/random'))
    const second = randomOf(await call(page, '/isolated/random'))
    assertEquals(first.atBoot, second.atBoot)
    assertNotEquals(first.uuid, second.uuid)
    assertNotEquals(first.random, second.random)
    assertEquals(faults, [])
    const endings = { loop: 504, memory: 507, output: 502, exit: 502, throw: 500 }
    for (const [how, status] of Object.entries(endings)) {
      assertMatch(await call(page, `/isolated/limits?try=${how}`), new RegExp(`^${status} `))
      assertMatch(await call(page, '/isolated/limits'), /^200 [^]*"well": true/)
    }
    const outcomes = await page.locator('#runs tbody tr td:first-child').allInnerTexts()
    const bad = outcomes.filter((outcome) => outcome !== 'answered').sort()
    assertEquals(bad, ['crash', 'crash', 'memory', 'timeout'])
    assertEquals(await page.evaluate(inPage.contrastFaults), [])
    assert(await page.evaluate(inPage.overflow) <= 0)
    // A link works by itself, too.
    await page.goto('/isolated/limits?try=exit')
    assertEquals(await page.title(), 'Bad Gateway · Mayfly')
  },
})

async function call(page: Page, path: string): Promise<string> {
  const own = `.tries li:has(> a[href="${path}"]) .answer`
  if (await page.locator(own).count() > 0) await page.evaluate(inPage.empty, own)
  await page.locator(`.tries a[href="${path}"]`).click()
  await page.waitForFunction(inPage.says, { selector: own, pattern: '^\\d{3} ' }, { timeout: 30_000 })
  await page.waitForLoadState('networkidle')
  return await page.locator(own).innerText()
}

function randomOf(answer: string): Record<string, unknown> {
  return JSON.parse(answer.slice(answer.indexOf('{')))
}

/** True where there are KVM and cargo; otherwise says aloud what is skipped. */
async function canIsolate(): Promise<boolean> {
  try {
    await checkKvmDevice()
    await findCargo()
    return true
  } catch (error) {
    console.log(`SKIPPED: the isolated pages in virtual machines: ${(error as Error).message}`)
    return false
  }
}
