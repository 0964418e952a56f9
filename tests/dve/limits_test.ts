import { assert, assertEquals, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { Engine, type LimitName, TemplateError } from '../../src/dve/mod.ts'

function assertLimit(run: () => unknown, limit: LimitName): void {
  const error = assertThrows(run, TemplateError)
  assertEquals(error.limit, limit)
  assert(error.message.includes(limit), error.message)
}

async function withViews(
  files: Record<string, string>,
  run: (dir: string) => void | Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir()
  try {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(dir, name), text)
    await run(dir)
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
}

Deno.test('maxIterations bounds one loop: below and at it pass, one above fails', () => {
  const template = new Engine({ maxIterations: 3 }).compile('{{#each a}}x{{/each}}{{#each a}}y{{/each}}')
  assertEquals(template.render({ a: [1, 2] }), 'xxyy')
  assertEquals(template.render({ a: [1, 2, 3] }), 'xxxyyy')
  assertLimit(() => template.render({ a: [1, 2, 3, 4] }), 'maxIterations')
  assertLimit(() => template.render({ a: { a: 1, b: 2, c: 3, d: 4 } }), 'maxIterations')
  assertLimit(() => template.render({ a: endless() }), 'maxIterations')
})

function* endless(): Generator<number> {
  for (let i = 0;; i++) yield i
}

Deno.test('maxRenderIterations bounds all loops together', () => {
  const template = new Engine({ maxRenderIterations: 12 }).compile(
    '{{#each a}}{{#each b}}x{{/each}}{{/each}}',
  )
  assertEquals(template.render({ a: [1, 2], b: [1, 2, 3, 4] }).length, 8)
  assertEquals(template.render({ a: [1, 2, 3], b: [1, 2, 3] }).length, 9)
  assertLimit(() => template.render({ a: [1, 2, 3], b: [1, 2, 3, 4] }), 'maxRenderIterations')
})

Deno.test('maxRenderIterations counts includes, so branching recursion ends', () =>
  withViews({ 'a.dve': '{{#if n > 0}}{{> a n=n - 1}}{{> a n=n - 1}}{{/if}}' }, (viewsDir) => {
    const engine = new Engine({ viewsDir })
    assertEquals(engine.renderSync('a', { n: 5 }), '')
    assertLimit(() => engine.renderSync('a', { n: 50 }), 'maxRenderIterations')
  }))

Deno.test('maxOutputSize counts characters: below and at it pass, one above fails', () => {
  const template = new Engine({ maxOutputSize: 10 }).compile('{{ a }}')
  assertEquals(template.render({ a: '123456789' }).length, 9)
  assertEquals(template.render({ a: '1234567890' }).length, 10)
  assertLimit(() => template.render({ a: '12345678901' }), 'maxOutputSize')
  const loop = new Engine({ maxOutputSize: 10 }).compile('{{#each a}}12345{{/each}}')
  assertEquals(loop.render({ a: [1, 2] }).length, 10)
  assertLimit(() => loop.render({ a: Array(90_000).fill(1) }), 'maxOutputSize')
})

Deno.test('maxOutputSize bounds a stream when it is given, and only then', async () => {
  const data = { a: Array(20_000).fill('x'.repeat(300)) }
  const source = '{{#each a as x}}{{ x }}{{/each}}'
  const bounded = new Engine({ maxOutputSize: 1000 }).compile(source).stream(data)
  const error = await new Response(bounded).text().catch((caught) => caught)
  assert(error instanceof TemplateError)
  assertEquals(error.limit, 'maxOutputSize')
  const text = await new Response(new Engine().compile(source).stream(data)).text()
  assertEquals(text.length, 6_000_000)
})

Deno.test('maxTemplateSize counts characters of a string and of a file', () =>
  withViews(
    { 'nine.dve': 'ä'.repeat(9), 'ten.dve': 'ä'.repeat(10), 'eleven.dve': 'ä'.repeat(11) },
    (viewsDir) => {
      const engine = new Engine({ viewsDir, maxTemplateSize: 10 })
      assertEquals(engine.renderSync('nine').length, 9)
      assertEquals(engine.renderSync('ten').length, 10)
      assertLimit(() => engine.renderSync('eleven'), 'maxTemplateSize')
      assertEquals(engine.compile('x'.repeat(10)).render(), 'x'.repeat(10))
      assertLimit(() => engine.compile('x'.repeat(11)), 'maxTemplateSize')
    },
  ))

Deno.test('includes nest 64 deep and no deeper', () =>
  withViews({ 'down.dve': '{{#if n > 1}}{{> down n=n - 1}}{{else}}end{{/if}}' }, (viewsDir) => {
    const engine = new Engine({ viewsDir })
    const template = engine.compile('{{> down n=n}}')
    assertEquals(template.render({ n: 63 }), 'end')
    assertEquals(template.render({ n: 64 }), 'end')
    assertLimit(() => template.render({ n: 65 }), 'maxIncludeDepth')
  }))

Deno.test('blocks nest 128 deep and expressions 256, and no deeper', () => {
  const engine = new Engine()
  const blocks = (n: number): string => '{{#if 1}}'.repeat(n) + 'x' + '{{/if}}'.repeat(n)
  assertEquals(engine.compile(blocks(128)).render(), 'x')
  assertLimit(() => engine.compile(blocks(129)), 'maxNesting')
  const loops = (n: number): string => '{{#each a as a}}'.repeat(n) + 'x' + '{{/each}}'.repeat(n)
  assertEquals(engine.compile(loops(128)).render({}), '')
  const parentheses = (n: number): string => `{{ ${'('.repeat(n)}a${')'.repeat(n)} }}`
  assertEquals(engine.compile(parentheses(255)).render({ a: 1 }), '1')
  assertLimit(() => engine.compile(parentheses(256)), 'maxNesting')
  for (const long of ['!'.repeat(500_000) + 'a', 'a' + '.a'.repeat(400_000), 'a' + '+a'.repeat(400_000)]) {
    assertLimit(() => engine.compile(`{{ ${long} }}`), 'maxNesting')
  }
  assertLimit(() => engine.compile(`{{ ${'('.repeat(900_000)}`), 'maxNesting')
  assertEquals(engine.compile(`{{ 1${'+1'.repeat(400_000)} }}`).render(), '400001')
})

Deno.test('a chain of else if is as long as one likes', () => {
  const source = `{{#if a == 0}}0${
    Array.from({ length: 5000 }, (_, i) => `{{else if a == ${i + 1}}}${i + 1}`).join('')
  }{{else}}none{{/if}}`
  const template = new Engine().compile(source)
  assertEquals(template.render({ a: 4999 }), '4999')
  assertEquals(template.render({ a: 6000 }), 'none')
})

Deno.test('text that doubles itself ends at maxTextSize', () =>
  withViews({ 'a.dve': '{{> a t=t + t}}' }, (viewsDir) => {
    const engine = new Engine({ viewsDir })
    assertLimit(() => engine.renderSync('a', { t: 'xxxxxxxx' }), 'maxTextSize')
  }))

Deno.test('a template of 1 000 000 characters compiles and renders right', async () => {
  let source = ''
  let want = ''
  for (let i = 0; source.length < 999_000; i++) {
    source +=
      `<tr><td>{{ name${i % 700} ?? ${i} }}</td>{{#if a.b > ${
        i % 3
      }}}<b>{{ a.b + ${i} }}</b>{{else}}no{{/if}}` +
      `{{#each list as x}}{{ @index }}{{ x }}{{/each}}</tr>\n`
    want += `<tr><td>${i}</td>${1 > i % 3 ? `<b>${1 + i}</b>` : 'no'}0&lt;1b</tr>\n`
  }
  source += ' '.repeat(1_000_000 - source.length)
  want += source.slice(source.trimEnd().length + 1)
  const template = new Engine().compile(source)
  const data = { a: { b: 1 }, list: ['<', 'b'] }
  assertEquals(template.render(data) === want, true)
  assertEquals(await new Response(template.stream(data)).text() === want, true)
})

Deno.test('Engine refuses options that do not fit, by name', () => {
  assertThrows(() => new Engine({ maxIterations: 0 }), RangeError, 'maxIterations is 0')
  assertThrows(() => new Engine({ maxOutputSize: 1.5 }), RangeError, 'maxOutputSize is 1.5')
  assertThrows(() => new Engine({ limits: { maxTemplateSize: NaN } }), RangeError, 'maxTemplateSize is NaN')
  assertThrows(
    () => new Engine({ maxIterations: '5' as unknown as number }),
    TypeError,
    'maxIterations is "5"',
  )
  assertThrows(
    () => new Engine({ limits: { maxIteration: 5 } as never }),
    TypeError,
    'did you mean limits.maxIterations',
  )
  assertThrows(
    () => new Engine({ viewDir: 'x' } as never),
    TypeError,
    'viewDir is no option, did you mean viewsDir',
  )
  assertThrows(() => new Engine({ on: { error: 1 } } as never), TypeError, 'on.error is 1, want a function')
  assertThrows(
    () => new Engine().compile('a').stream({}, { chunkSize: 0 }),
    RangeError,
    'Cannot stream: chunkSize is 0',
  )
  assertThrows(() => new Engine({ viewsDir: '' }), TypeError, 'viewsDir')
  assertThrows(() => new Engine({ filters: { 'a b': (v) => v } }), TypeError, '"a b"')
  assertThrows(
    () => new Engine({ filters: { a: 1 as unknown as () => 1 } }),
    TypeError,
    'filters has a, which is number',
  )
})
