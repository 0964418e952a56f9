/** The browser's reload after a save: pages of development get a script, and its events tell of what changed. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { Router, type RouterOptions, securityHeaders } from '@mayfly/mayfly'
import { chromium } from 'playwright-core'
import { setEnvironment } from '../environment.ts'
import { listen } from '../listening.ts'
import { CHROMIUM, hasChromium } from '../site/browser.ts'
import { isQuick } from '../tiers.ts'
import { eventually, type TempSite, tempSite } from '../router/temp_site.ts'

const FILES = {
  'deno.json': '{}',
  'views/page.dve': '<!doctype html><title>page</title><h1>{{ text }}</h1>',
  'routes/page.ts': `export const GET = (ctx) => ctx.render('page', { text: 'one' })\n`,
  'routes/data.ts': `export const GET = (ctx) => ctx.send.json({})\n`,
  'routes/crash.ts': `export const GET = () => { throw new Error('crashed') }\n`,
  'public/site.css': 'h1 { color: red }',
  'public/favicon.ico': 'none',
  'public/plain.html': '<h1>plain</h1>',
}
/** Longer than anything takes on a busy machine. */
const DRAIN_MS = 60_000
const BROWSER = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }

interface Running {
  readonly site: TempSite
  readonly origin: string
  readonly router: Router
}

async function withServer(
  run: (running: Running) => Promise<void>,
  { environment = 'development', setup, ...options }: RouterOptions & {
    environment?: string
    setup?: (router: Router) => void
  } = {},
): Promise<void> {
  await using site = await tempSite(FILES)
  using _environment = setEnvironment({ DENO_ENV: environment })
  using _quiet = muteErrors()
  const router = new Router({
    routesDir: site.routesDir,
    viewsDir: `${site.root}/views`,
    isolate: false,
    drainMs: DRAIN_MS,
    ...options,
  })
  router.static('/', `${site.root}/public`)
  setup?.(router)
  await using server = await listen((options) => router.serve(options))
  await run({ site, origin: server.origin, router })
}

function muteErrors(): Disposable {
  const { error } = console
  console.error = () => {}
  return { [Symbol.dispose]: () => void (console.error = error) }
}

async function read(address: string, headers: Record<string, string> = BROWSER): Promise<string> {
  return await (await fetch(address, { headers })).text()
}

interface Served {
  readonly version: string
  readonly faults: string[]
}

/** The events of the script, one after another. */
async function openEvents(origin: string): Promise<{ next(): Promise<Served>; close(): Promise<void> }> {
  const response = await fetch(`${origin}/_mayfly/reload`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async next() {
      while (!text.includes('\n\n')) text += (await reader.read()).value ?? '\n\n'
      const end = text.indexOf('\n\n')
      const data = text.slice('data: '.length, end)
      text = text.slice(end + 2)
      return JSON.parse(data)
    },
    close: () => reader.cancel(),
  }
}

Deno.test('pages that a browser opens get the script, and nothing else does', async () => {
  await withServer(async ({ origin }) => {
    for (const path of ['/page', '/crash', '/nowhere', '/plain.html']) {
      const html = await read(`${origin}${path}`)
      assertEquals(html.split('<script src="/_mayfly/reload.js" async></script>').length, 2, path)
    }
    assert(!(await read(`${origin}/page`, { accept: '*/*' })).includes('_mayfly'), 'curl')
    assert(
      !(await read(`${origin}/page`, { ...BROWSER, 'sec-fetch-mode': 'cors' })).includes('_mayfly'),
      'fetch',
    )
    assertEquals(await read(`${origin}/data`), '{}')
    assertMatch(await read(`${origin}/_mayfly/reload.js`), /new EventSource\('\/_mayfly\/reload'\)/)
  })
})

Deno.test('a page with a policy gets the script with its nonce', async () => {
  await withServer(async ({ origin }) => {
    const response = await fetch(`${origin}/page`, { headers: BROWSER })
    const nonce = /'nonce-([^']+)'/.exec(response.headers.get('content-security-policy')!)![1]
    assertStringIncludes(await response.text(), `<script src="/_mayfly/reload.js" nonce="${nonce}" async>`)
  }, { setup: (router) => void router.use(securityHeaders()) })
})

Deno.test('production has neither the script nor its addresses', async () => {
  for (const hotReload of [false, true]) {
    await withServer(async ({ origin }) => {
      assert(!(await read(`${origin}/page`)).includes('_mayfly'))
      for (const path of ['/_mayfly/reload', '/_mayfly/reload.js']) {
        const response = await fetch(`${origin}${path}`)
        await response.body?.cancel()
        assertEquals(response.status, 404)
      }
    }, { environment: 'production', hotReload })
  }
})

Deno.test('a save of a route, a view or a file is told once it is served', async () => {
  await withServer(async ({ site, origin }) => {
    await read(`${origin}/page`)
    const events = await openEvents(origin)
    const versions = [(await events.next()).version]
    const saves: [string, string, string, string][] = [
      ['routes/page.ts', FILES['routes/page.ts'].replace('one', 'two'), '/page', 'two'],
      ['views/page.dve', '<title>x</title><h2>{{ text }}</h2>', '/page', '<h2>two'],
      ['public/site.css', 'h1 { color: blue }', '/site.css', 'blue'],
    ]
    for (const [file, text, path, wanted] of saves) {
      await site.write(file, text)
      versions.push((await events.next()).version)
      assertStringIncludes(await read(`${origin}${path}`), wanted)
    }
    assertEquals(new Set(versions).size, 4, versions.join(' '))
    await events.close()
  })
})

Deno.test('a save that does not load is told over the page of before, until it loads', async () => {
  await withServer(async ({ site, origin }) => {
    await read(`${origin}/page`)
    const events = await openEvents(origin)
    const { version } = await events.next()
    await site.write('views/page.dve', '<h1>{{ text | }}</h1>')
    const broken = await events.next()
    assertEquals([broken.version, broken.faults.length], [version, 1])
    assertMatch(broken.faults[0], /want the name of a filter \(views\/page\.dve:1:\d+\)/)
    assertStringIncludes(await read(`${origin}/page`), '<h1>one')
    await site.write('views/page.dve', '<h1>{{ text }}!</h1>')
    const mended = await events.next()
    assertEquals(mended.faults, [])
    assert(mended.version !== version)
    await site.write('routes/page.ts', 'export const GET = (\n')
    for (;;) {
      const { faults } = await events.next()
      if (faults.length === 0) continue
      assertMatch(faults[0], /load route '.*routes\/page\.ts': .*\(routes\/page\.ts:\d+:\d+\)/)
      break
    }
    await events.close()
  })
})

Deno.test('open pages hold no shutdown up', async () => {
  const events: Awaited<ReturnType<typeof openEvents>>[] = []
  let started = 0
  await withServer(async ({ origin }) => {
    events.push(await openEvents(origin))
    await events[0].next()
    started = performance.now()
  })
  assert(performance.now() - started < DRAIN_MS, 'it waited until drainMs was over')
  await events[0].close()
})

Deno.test({
  name: 'a browser shows what was saved by itself',
  ignore: isQuick() || !await hasChromium(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withServer(async ({ site, origin }) => {
      const browser = await chromium.launch({
        executablePath: CHROMIUM,
        args: ['--headless', '--no-sandbox'],
      })
      try {
        const page = await browser.newPage()
        const faults: string[] = []
        page.on('pageerror', (error) => faults.push(String(error)))
        page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
        await page.goto(`${origin}/page`)
        assertEquals(await page.textContent('h1'), 'one')
        await site.write('routes/page.ts', FILES['routes/page.ts'].replace('one', 'two'))
        await eventually('the new text', async () => await page.textContent('h1').catch(() => '') === 'two')
        await site.write('views/page.dve', '<h1>{{ text | }}</h1>')
        const box = await page.waitForSelector('#mayfly-faults')
        assertMatch(await box.textContent() ?? '', /views\/page\.dve:1:\d+/)
        await site.write('views/page.dve', '<h1>{{ text }} three</h1>')
        await eventually('the fix', async () => await page.textContent('h1').catch(() => '') === 'two three')
        assertEquals(await page.$('#mayfly-faults'), null)
        assertEquals(faults, [])
      } finally {
        await browser.close()
      }
    }, { setup: (router) => void router.use(securityHeaders()) })
  },
})
