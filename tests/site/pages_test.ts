import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { createSite } from '../../routes/_site.ts'
import { setEnvironment } from '../environment.ts'
import { PAGES } from './pages.ts'

const ORIGIN = 'http://localhost'

Deno.test('every page answers with its title, one h1, no unfilled mark and no leaked value', async (t) => {
  await using site = createSite({ production: true, isolate: false })
  for (const { path, title } of PAGES) {
    await t.step(path, async () => {
      const response = await site.fetch(new Request(ORIGIN + path))
      const html = await response.text()
      assertEquals(response.status, 200)
      assertMatch(response.headers.get('content-type') ?? '', /^text\/html; charset=utf-8$/i)
      assertStringIncludes(html, `<title>${title} · Mayfly</title>`)
      assert(html.trimEnd().endsWith('</html>'))
      const shown = withoutCode(html)
      assertEquals(/\{\{|\}\}/.exec(shown)?.[0], undefined)
      assertEquals(/\[object |\bNaN\b|>undefined</.exec(shown)?.[0], undefined)
      checkHeadings(html)
      checkMarkup(html)
    })
  }
})

Deno.test('every link of every page leads to an answer', async () => {
  await using site = createSite({ production: true, isolate: false })
  const meant = new Set([
    // Without machines these answer 503.
    '/isolated/counter',
    '/reach/clock',
    '/errors/teapot',
    '/errors/crash',
    '/errors/nowhere',
    '/errors/template',
    '/no-such-page',
  ])
  const seen = new Set<string>()
  for (const { path } of PAGES) {
    const html = await (await site.fetch(new Request(ORIGIN + path))).text()
    for (
      const [, href] of withoutTries(html).matchAll(/<(?:a|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"/g)
    ) {
      const url = new URL(href.replaceAll('&amp;', '&'), ORIGIN + path)
      if (url.origin !== ORIGIN || meant.has(url.pathname) || url.pathname === '/sse/clock') continue
      seen.add(url.pathname + url.search)
    }
  }
  for (const href of seen) {
    const response = await site.fetch(new Request(ORIGIN + href))
    await response.body?.cancel()
    assert(response.status < 400, `${href} answers ${response.status}`)
  }
  assert(seen.size > 30)
})

Deno.test('the home page with all its assets stays under 60 KB', async () => {
  await using site = createSite({ production: true, isolate: false })
  const html = await (await site.fetch(new Request(ORIGIN))).text()
  let size = new TextEncoder().encode(html).byteLength
  for (const [, href] of html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
    const response = await site.fetch(new Request(ORIGIN + href))
    assertEquals(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    size += (await response.arrayBuffer()).byteLength
  }
  assert(size < 60_000, `the home page has ${size} bytes uncompressed`)
})

Deno.test('a page carries a fresh nonce, which its scripts and its policy share', async () => {
  await using site = createSite({ production: true, isolate: false })
  const nonces = new Set<string>()
  for (let i = 0; i < 2; i++) {
    const response = await site.fetch(new Request(ORIGIN))
    const nonce = /'nonce-([^']+)'/.exec(response.headers.get('content-security-policy') ?? '')?.[1] ?? ''
    const html = await response.text()
    const scripts = [...html.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag.replaceAll('&#x2F;', '/'))
    assert(scripts.length >= 2)
    for (const tag of scripts) assertStringIncludes(tag.replaceAll('&#43;', '+'), `nonce="${nonce}"`)
    nonces.add(nonce)
  }
  assertEquals(nonces.size, 2)
})

Deno.test('the theme of the cookie is in the first byte, and no other value is', async () => {
  await using site = createSite({ production: true, isolate: false })
  const render = async (cookie: string) =>
    await (await site.fetch(new Request(ORIGIN, { headers: { cookie } }))).text()
  assertStringIncludes(await render('theme=dark'), '<html lang="en" data-theme="dark">')
  assertStringIncludes(await render('theme=light'), '<html lang="en" data-theme="light">')
  assertStringIncludes(await render('theme="><script>'), '<html lang="en">')
})

Deno.test('errors have a page for people and a problem for programs', async () => {
  await using site = createSite({ production: true, isolate: false })
  const page = await site.fetch(new Request(`${ORIGIN}/nowhere`, { headers: { accept: 'text/html' } }))
  assertEquals(page.status, 404)
  assertStringIncludes(await page.text(), '<title>Not Found · Mayfly</title>')
  const problem = await site.fetch(
    new Request(`${ORIGIN}/errors/teapot`, { headers: { accept: 'application/json' } }),
  )
  assertEquals(problem.status, 418)
  assertEquals(problem.headers.get('content-type'), 'application/problem+json')
  assertEquals((await problem.json()).detail, 'This pot makes tea and nothing else')
})

Deno.test('production keeps an unexpected error to itself, development shows its source', async () => {
  const headers = { accept: 'text/html' }
  for (const production of [true, false]) {
    await using site = createSite({ production, isolate: false })
    using _quiet = muteErrors()
    using _environment = setEnvironment({ DENO_ENV: production ? 'production' : 'development' })
    const response = await site.fetch(new Request(`${ORIGIN}/errors/crash`, { headers }))
    const html = await response.text()
    assertEquals(response.status, 500)
    assertEquals(html.includes('crash.ts'), !production)
  }
})

/** Text of a page that is not shown as code: there template marks are meant. */
function withoutCode(html: string): string {
  return html.replace(/<(pre|textarea|code)\b[^]*?<\/\1>/g, '').replace(/srcdoc="[^"]*"/g, '')
}

function withoutTries(html: string): string {
  return html.replace(/<ul class="tries">[^]*?<\/ul>/g, '')
}

function checkHeadings(html: string): void {
  const levels = [...withoutCode(html).matchAll(/<h([1-6])\b/g)].map(([, level]) => Number(level))
  assertEquals(levels.filter((level) => level === 1).length, 1)
  levels.reduce((before, level) => {
    assert(level <= before + 1, `h${level} follows h${before}`)
    return level
  }, levels[0] === 1 ? 0 : 1)
}

/** Ids are unique, labels and descriptions point at something, nothing runs inline. */
function checkMarkup(html: string): void {
  const shown = withoutCode(html)
  const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
  assertEquals(ids.length, new Set(ids).size)
  for (const [, list] of shown.matchAll(/\s(?:for|aria-labelledby|aria-describedby)="([^"]+)"/g)) {
    for (const id of list.split(' ')) assert(ids.includes(id), `nothing has the id ${id}`)
  }
  assertEquals(/\son[a-z]+="|\sstyle="|javascript:/i.exec(shown)?.[0], undefined)
}

function muteErrors(): Disposable {
  const { error } = console
  console.error = () => {}
  return { [Symbol.dispose]: () => void (console.error = error) }
}
