import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { toFileUrl } from '@std/path'
import { groupDocs, listDocs, renderDoc } from '../../routes/_lib/docs.ts'
import { searchDocs } from '../../routes/_lib/docs_search.ts'
import { createSite } from '../../routes/_site.ts'

async function withProject(run: (root: URL) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  const root = toFileUrl(`${folder}/`)
  try {
    await Deno.mkdir(new URL('src/dve/deep/', root), { recursive: true })
    await Deno.writeTextFile(
      new URL('README.md', root),
      '# Read `me`\n\n<script>alert(1)</script> <b onclick=x>hi</b>\n\n' +
        '[dve](src/dve/README.md#limits) [out](../secret.md) [js](javascript:alert(1)) [web](https://deno.com)\n\n' +
        '![pic](data:text/html,x) ![bars](benchmark/results/packages.svg) ![no](https://example.com/a.svg)\n\n## Twice\n\n## Twice\n\n```ts\nconst a = "<"\n```\n\n| a | b |\n|--|--|\n| `x` | 2 |\n',
    )
    await Deno.writeTextFile(new URL('src/dve/README.md', root), '# DVE\n\n[up](../../README.md)\n')
    await Deno.writeTextFile(new URL('src/dve/deep/more.md', root), 'no heading\n')
    await Deno.writeTextFile(new URL('src/dve/code.ts', root), '')
    await run(root)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

Deno.test('listDocs finds the Markdown of the project, the top first', () =>
  withProject(async (root) => {
    const docs = await listDocs(root)
    assertEquals(docs.map(({ slug, title, group }) => [slug, title, group]), [
      ['readme', 'Read me', 'The project'],
      ['dve/readme', 'DVE', 'The parts'],
      ['dve/deep/more', 'src/dve/deep/more.md', 'Dve'],
    ])
    assertEquals(groupDocs(docs).map(({ name, docs }) => [name, docs.length]), [['The project', 1], [
      'The parts',
      1,
    ], ['Dve', 1]])
  }))

Deno.test('renderDoc shows raw HTML as text and keeps only links that lead somewhere', () =>
  withProject(async (root) => {
    const docs = await listDocs(root)
    const { html, headings } = await renderDoc(root, docs[0], docs)
    assertEquals(headings.map(({ id, text, depth }) => [id, text, depth]), [
      ['twice', 'Twice', 2],
      ['twice-1', 'Twice', 2],
    ])
    assertStringIncludes(html, '&lt;script&gt;')
    assertEquals(html.match(/<img [^>]*>/g), ['<img src="/charts/packages.svg" alt="bars" loading="lazy">'])
    assertEquals(
      /<script|onclick=x>|<b |javascript:|data:text/.exec(html.replaceAll('&lt;b onclick=x&gt;', '')),
      null,
    )
    assertStringIncludes(html, '<a href="/docs/dve/readme#limits">dve</a>')
    assertStringIncludes(html, '<a href="https://deno.com">web</a>')
    assert(!html.includes('secret'))
    assertStringIncludes(html, '<h2 id="twice">')
    assertStringIncludes(html, '<h2 id="twice-1">')
    assertStringIncludes(html, '<span class="k">const</span> a = <span class="s">&quot;&lt;&quot;</span>')
    assertStringIncludes(html, '<td><code>x</code></td>')
    assertStringIncludes((await renderDoc(root, docs[1], docs)).html, '<a href="/docs/readme">up</a>')
  }))

Deno.test('the search finds sections that have all the words, headings first, and leads to their place', () =>
  withProject(async (root) => {
    await Deno.writeTextFile(
      new URL('src/dve/deep/more.md', root),
      'Twice in text.\n\n## Reset of pages\n\nA *reset* puts <b>pages</b> back.\n\n```ts\n# no heading\n```\n',
    )
    const docs = await listDocs(root)
    const find = async (query: string) => (await searchDocs(root, docs, query)).map(({ href }) => href)
    assertEquals(await find('RESET pages'), ['/docs/dve/deep/more#reset-of-pages'])
    assertEquals(await find('twice'), ['/docs/readme#twice', '/docs/readme#twice-1', '/docs/dve/deep/more'])
    assertEquals(await find('no heading'), ['/docs/dve/deep/more#reset-of-pages'])
    assertEquals(await find('pages absent'), [])
    assertEquals(await find('.*'), [])
    assertEquals(await find('   '), [])
    const [{ excerpt }] = await searchDocs(root, docs, 'reset')
    assertEquals(excerpt.filter(({ isWord }) => isWord).map(({ text }) => text), ['reset'])
    assertStringIncludes(excerpt.map(({ text }) => text).join(''), 'A reset puts <b>pages</b> back.')
  }))

Deno.test('a query is shown as text, and a long one is cut', async () => {
  await using site = createSite({ production: true, isolate: false })
  const ask = async (query: string) =>
    await (await site.fetch(new Request(`http://localhost/docs/search?q=${encodeURIComponent(query)}`)))
      .text()
  const html = await ask('"><script>alert(1)</script>')
  assert(!html.includes('<script>alert'))
  assertStringIncludes(html, '0 sections have')
  assertStringIncludes(await ask('a'.repeat(500)), `“${'a'.repeat(100)}”`)
})

Deno.test('a document leads to those before and after it, and the links of all lead somewhere', async () => {
  await using site = createSite({ production: true, isolate: false })
  const docs = await listDocs(new URL('../../', import.meta.url))
  for (const [at, { slug }] of docs.entries()) {
    const response = await site.fetch(new Request(`http://localhost/docs/${slug}`))
    const html = await response.text()
    assertEquals(response.status, 200, slug)
    const neighbour = (rel: string) => new RegExp(`href="/docs/([^"]+)" rel="${rel}"`).exec(html)?.[1]
    assertEquals([neighbour('prev'), neighbour('next')], [docs[at - 1]?.slug, docs[at + 1]?.slug], slug)
  }
})

Deno.test('a chart is served with its own style allowed, and no other file', async () => {
  await using site = createSite({ production: true })
  const chart = await site.fetch(new Request('http://localhost/charts/bench.svg'))
  assertEquals([chart.status, chart.headers.get('content-type')], [200, 'image/svg+xml'])
  assertEquals(chart.headers.get('content-security-policy'), "default-src 'none'; style-src 'unsafe-inline'")
  assertStringIncludes(await chart.text(), '<svg ')
  for (const name of ['bench.json', '..%2fREADME.md', 'none.svg']) {
    const response = await site.fetch(new Request(`http://localhost/charts/${name}`))
    assertEquals(response.status, 404, name)
    await response.body?.cancel()
  }
})

Deno.test('no address below /docs reaches a file that is not listed', async () => {
  await using site = createSite({ production: true })
  for (
    const slug of [
      '..%2f..%2fdeno.json',
      '%2e%2e/deno.json',
      'deno.json',
      'readme.md',
      'src/dve',
      'README',
      'a/b/c',
    ]
  ) {
    const response = await site.fetch(new Request(`http://localhost/docs/${slug}`))
    await response.body?.cancel()
    assertEquals(response.status, 404, slug)
  }
})
