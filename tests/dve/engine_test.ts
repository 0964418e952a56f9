import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from '@std/assert'
import { fromFileUrl, join } from '@std/path'
import { Engine, type EngineEvent, TemplateError } from '../../src/dve/mod.ts'

async function withViews(
  files: Record<string, string>,
  run: (dir: string, home: string) => void | Promise<void>,
): Promise<void> {
  const home = await Deno.realPath(await Deno.makeTempDir())
  const dir = join(home, 'views')
  try {
    await Deno.mkdir(dir)
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(dir, name), text)
    await run(dir, home)
  } finally {
    await Deno.remove(home, { recursive: true })
  }
}

Deno.test('names outside the views folder are refused, links too', () =>
  withViews({ 'a.dve': 'A' }, async (viewsDir, home) => {
    await Deno.writeTextFile(join(home, 'secret.dve'), 'SECRET')
    await Deno.mkdir(join(home, 'views-other'))
    await Deno.writeTextFile(join(home, 'views-other', 'x.dve'), 'SECRET')
    await Deno.symlink(join(home, 'secret.dve'), join(viewsDir, 'link.dve'))
    await Deno.symlink(home, join(viewsDir, 'up'))
    await Deno.symlink(join(viewsDir, 'a.dve'), join(viewsDir, 'inside.dve'))
    const engine = new Engine({ viewsDir })
    const outside = [
      '../secret',
      'x/../../secret.dve',
      'link',
      'up/secret',
      'up/views-other/x',
      '../views-other/x',
      `..${'/..'.repeat(40)}/etc/passwd`,
    ]
    for (const name of outside) {
      await assertRejects(() => engine.render(name), TemplateError, 'is outside the views folder', name)
      await assertRejects(
        () => engine.renderString(`{{> '${name}'}}`),
        TemplateError,
        'is outside the views folder',
      )
      assertEquals(engine.check(name).length, 1)
    }
    for (const name of ['', 'a\0', join(home, 'secret'), 'a.dve/b', '..', '.']) {
      await assertRejects(() => engine.render(name), TemplateError, 'Cannot read template', name)
    }
    assertEquals(await engine.render('inside'), 'A')
    assertEquals(await engine.render('x/../a'), 'A')
    await assertRejects(() => engine.render('../a'), TemplateError, 'is outside the views folder')
    assertEquals(await engine.render('/a'), 'A')
  }))

Deno.test('a views folder that is a link is as good as its target', () =>
  withViews({ 'a.dve': '{{> b}}', 'b.dve': 'B' }, async (viewsDir, home) => {
    await Deno.symlink(viewsDir, join(home, 'linked'))
    const engine = new Engine({ viewsDir: join(home, 'linked') })
    assertEquals(await engine.render('a'), 'B')
    await Deno.writeTextFile(join(viewsDir, 'b.dve'), 'C')
    assertEquals(engine.invalidate(join(home, 'linked', 'b.dve')), ['a'])
    assertEquals(await engine.render('a'), 'C')
  }))

Deno.test('a folder, a missing file and a missing views folder are TemplateErrors', () =>
  withViews({}, async (viewsDir) => {
    await Deno.mkdir(join(viewsDir, 'folder.dve'))
    assertThrows(() => new Engine({ viewsDir }).renderSync('folder'), TemplateError, 'is no file')
    const error = assertThrows(
      () => new Engine({ viewsDir }).renderSync('nope'),
      TemplateError,
      'is not there',
    )
    assertInstanceOf(error.cause, Deno.errors.NotFound)
    assertThrows(
      () => new Engine({ viewsDir: join(viewsDir, 'x') }).renderSync('a'),
      TemplateError,
      'viewsDir',
    )
    assertThrows(() => new Engine().renderSync('a'), TemplateError, 'want an engine with viewsDir')
  }))

Deno.test('a byte order mark is not part of a template', () =>
  withViews({ 'a.dve': '\ufeffA' }, (viewsDir) => {
    assertEquals(new Engine({ viewsDir }).renderSync('a'), 'A')
  }))

Deno.test('pages are kept until they are invalidated, by any file they are made of', () =>
  withViews({ 'a.dve': 'A{{> b}}', 'b.dve': 'B{{> c}}', 'c.dve': 'C', 'd.dve': 'D' }, async (viewsDir) => {
    const engine = new Engine({ viewsDir })
    assertEquals(engine.renderSync('a') + engine.renderSync('d'), 'ABCD')
    assertEquals(
      engine.dependencies('a').sort(),
      ['a', 'b', 'c'].map((name) => join(viewsDir, `${name}.dve`)),
    )
    await Deno.writeTextFile(join(viewsDir, 'c.dve'), 'X')
    assertEquals(engine.renderSync('a'), 'ABC')
    assertEquals(engine.invalidate(join(viewsDir, 'other.dve')), [])
    assertEquals(engine.invalidate(join(viewsDir, 'c.dve')), ['a'])
    assertEquals(engine.renderSync('a.dve'), 'ABX')
    assertEquals(engine.dependencies('d').length, 1)
    assertEquals(engine.invalidate('c.dve'), ['a'])
    assertEquals(engine.renderSync('a') + engine.renderSync('d'), 'ABXD')
    assertEquals(engine.invalidate(viewsDir).sort(), ['a', 'd'])
    assertEquals(engine.invalidate(), [])
  }))

Deno.test('refresh compiles again, keeps the last good version, and drops what is gone', () =>
  withViews({ 'a.dve': 'A{{> b}}', 'b.dve': 'B' }, async (viewsDir) => {
    const refreshed: EngineEvent[] = []
    const failed: EngineEvent[] = []
    const engine = new Engine({
      viewsDir,
      on: { refreshed: (event) => refreshed.push(event), error: (event) => failed.push(event) },
    })
    const b = join(viewsDir, 'b.dve')
    assertEquals(engine.renderSync('a'), 'AB')
    await Deno.writeTextFile(b, 'C')
    assertEquals(engine.refresh(b), [])
    assertEquals(engine.renderSync('a'), 'AC')
    assertEquals(refreshed.map((event) => event.name), ['a'])
    await Deno.writeTextFile(b, '{{#if')
    assertEquals(engine.refresh(b).length, 1)
    assertEquals(engine.renderSync('a'), 'AC')
    assertEquals(failed.map((event) => event.name), ['a'])
    await Deno.writeTextFile(b, 'D')
    engine.refresh(b)
    assertEquals(engine.renderSync('a'), 'AD')
    await Deno.remove(join(viewsDir, 'a.dve'))
    assertEquals(engine.refresh(join(viewsDir, 'a.dve')), [])
    assertThrows(() => engine.renderSync('a'), TemplateError, 'is not there')
  }))

Deno.test('hooks hear what happens, and the clock is not read without them', () =>
  withViews({ 'a.dve': 'A', 'bad.dve': '{{#if', 'late.dve': '{{ 1 | boom }}' }, async (viewsDir) => {
    const engine = new Engine({
      viewsDir,
      filters: {
        boom() {
          throw new Error('boom')
        },
      },
    })
    const now = performance.now
    let reads = 0
    performance.now = () => {
      reads++
      return now.call(performance)
    }
    const heard: string[] = []
    const note = (kind: string) => (event: EngineEvent) => {
      assert(event.durationMs >= 0)
      heard.push(`${kind} ${event.name}`)
    }
    try {
      engine.renderSync('a')
      engine.renderSync('a')
      await new Response(engine.stream('a')).text()
      assertEquals(reads, 0)
      engine.setHooks({
        compiled: note('compiled'),
        rendered: note('rendered'),
        refreshed: note('refreshed'),
        error: note('error'),
      })
      engine.renderSync('a')
      engine.invalidate()
      engine.renderSync('a.dve')
      await engine.renderString('x')
      await new Response(engine.stream('a')).text()
      assertThrows(() => engine.renderSync('bad'), TemplateError)
      assertThrows(() => engine.renderSync('late'), TemplateError)
      engine.setHooks(undefined)
      engine.renderSync('a')
    } finally {
      performance.now = now
    }
    assertEquals(heard, [
      'rendered a',
      'refreshed a',
      'rendered a',
      'compiled (string)',
      'rendered (string)',
      'rendered a',
      'error bad',
      'compiled late',
      'error late',
    ])
  }))

Deno.test('check reports every problem of a page and of what it includes, in order', () =>
  withViews({
    'a.dve':
      '{{ 1 + }}\n{{#if x}}{{ y( }}{{/if}}\n{{> b}}{{> nope}}\n{{#each }}{{ z | what }}{{/each}}\n{{< base}}{{#block no}}{{/block}}{{/}}',
    'b.dve': '{{/if}}{{ a..b }}',
    'base.dve': '{{#slot yes}}{{/slot}}',
    'good.dve': '{{> c}}',
    'c.dve': '{{ x }}',
  }, (viewsDir) => {
    const engine = new Engine({ viewsDir })
    const found = engine.check('a').map((error) =>
      `${error.file.slice(viewsDir.length + 1)}:${error.line}:${error.column}`
    )
    assertEquals(found, [
      'a.dve:1:8',
      'a.dve:2:14',
      'a.dve:3:12',
      'a.dve:4:9',
      'a.dve:4:18',
      'a.dve:5:11',
      'b.dve:1:1',
      'b.dve:1:13',
    ])
    assertEquals(engine.check('good'), [])
    assertEquals(engine.check('missing').length, 1)
  }))

Deno.test('TemplateError is an Error that shows file, line, column, excerpt and caret', () => {
  const error = assertThrows(() => new Engine().compile('one\ntwo {{ a + }} three'), TemplateError)
  assertInstanceOf(error, Error)
  assertEquals(error.name, 'TemplateError')
  assertEquals([error.file, error.line, error.column], ['(string)', 2, 12])
  assertEquals(error.excerpt, 'two {{ a + }} three')
  assertEquals(error.caret, '           ^')
  assertEquals(error.message, `${error.reason} at (string):2:12\n${error.excerpt}\n${error.caret}`)
})

Deno.test('the excerpt of a long line is a piece around the place', () => {
  const error = assertThrows(
    () => new Engine().compile('x'.repeat(5000) + '{{ ) }}' + 'y'.repeat(5000)),
    TemplateError,
  )
  assertEquals(error.excerpt.length, 100)
  assertEquals(error.excerpt[error.caret.length - 1], ')')
})

Deno.test('render and renderString reject, renderSync and compile throw', async () => {
  const engine = new Engine()
  await assertRejects(() => engine.renderString('{{'), TemplateError)
  await assertRejects(() => engine.render('x'), TemplateError)
  assertThrows(() => engine.compile(5 as unknown as string), TypeError)
  assertEquals(await engine.renderString('{{ a }}', null), '')
  assertEquals(await engine.renderString('{{ a }}', { a: 1 }), '1')
})

Deno.test('each meta of the benchmark renders as its view says', async () => {
  const engine = new Engine({ viewsDir: fromFileUrl(new URL('../../benchmark/views', import.meta.url)) })
  const items = Array.from({ length: 50 }, (_, i) => i)
  const want = `[${items.map((i) => `${i}/50=${i}`).join(' ')}]\n`
  assertEquals(await engine.render('test-view-each-meta', { items }), want)
})
