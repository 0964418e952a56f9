/**
 * 100 000 random templates, fewer in the quick tier: none hangs, none crashes, none gets its text run as code. Half are made by the grammar and then
 * broken, a third are noise of the grammar's own words, the rest raw noise.
 */
import { isQuick } from '../tiers.ts'
import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import { Engine, TemplateError } from '../../src/dve/mod.ts'
import { createRandom, type Random } from './random.ts'

const COUNT = isQuick() ? 20_000 : 100_000
const ATTACKS = [
  'globalThis.__canary=1',
  '`);globalThis.__canary=1;(`',
  '");globalThis.__canary=1;("',
  "');globalThis.__canary=1;('",
  '\\");globalThis.__canary=1//',
  '*/globalThis.__canary=1/*',
  '\u2028globalThis.__canary=1\u2029',
  '}}}globalThis.__canary=1;function(){{{',
  '${globalThis.__canary=1}',
  'constructor.constructor("globalThis.__canary=1")()',
  '__proto__.polluted=1',
  '<!--',
  '-->',
  '\0',
  '\ud800',
]
const WORDS = [
  '{{',
  '}}',
  '{{{',
  '}}}',
  '{{~',
  '~}}',
  '{{#if ',
  '{{#each ',
  '{{else}}',
  '{{else if ',
  '{{/if}}',
  '{{/each}}',
  '{{> ',
  '{{< ',
  '{{/}}',
  '{{#block ',
  '{{/block}}',
  '{{#slot ',
  '{{/slot}}',
  '{{!--',
  '--}}',
  ' as ',
  ', ',
  ' | ',
  '.',
  '?.',
  '[',
  ']',
  '(',
  ')',
  '?',
  ':',
  '??',
  '||',
  '&&',
  '==',
  '===',
  '<',
  '>',
  '+',
  '-',
  '*',
  '/',
  '%',
  '!',
  '=',
  '"',
  "'",
  '\\',
  '@index',
  '@parent',
  '@parent.@parent',
  '@key',
  '@last',
  'a',
  'b',
  'list',
  'rows',
  'deep',
  'constructor',
  '__proto__',
  'prototype',
  'part',
  'self',
  'base',
  'main',
  'up',
  'null',
  'true',
  '0',
  '1',
  '9e9',
  '0x',
  ' ',
  '\n',
  'text',
  '~',
  '`',
  '$',
  '{',
  '}',
  ';',
]
const NAMES = [
  'a',
  'b',
  'list',
  'rows',
  'deep',
  'missing',
  '__proto__',
  'constructor',
  'item',
  'x',
  's',
  'o',
  'F',
  'd',
  '@index',
  '@first',
  '@last',
  '@length',
  '@key',
  '@parent',
  '@parent.x',
  '@parent.index',
]
const LITERALS = ['0', '1', '2', "'<'", '"}}"', 'null', 'true', "'\\u{1f600}'", "'__proto__'"]
const BINARY = ['+', '-', '*', '/', '%', '<', '>', '<=', '>=', '==', '!=', '===', '!==', '&&', '||', '??']

function expression(random: Random, depth: number): string {
  const kind = depth <= 0 ? random.int(2) : random.int(9)
  switch (kind) {
    case 0:
      return random.pick(NAMES)
    case 1:
      return random.int(6) === 0 ? JSON.stringify(random.pick(ATTACKS)) : random.pick(LITERALS)
    case 2:
      return `${expression(random, depth - 1)}.${
        random.pick(['a', 'length', 'constructor', '__proto__', 'x'])
      }`
    case 3:
      return `${random.pick(NAMES)}[${expression(random, depth - 1)}]`
    case 4:
      return `${random.pick(['!', '-', '+'])}${expression(random, depth - 1)}`
    case 5:
      return `(${expression(random, depth - 1)}) ? ${expression(random, depth - 1)} : ${
        expression(random, depth - 1)
      }`
    case 6:
      return `(${expression(random, depth - 1)} | up)`
    default:
      return `(${expression(random, depth - 1)}) ${random.pick(BINARY)} ${expression(random, depth - 1)}`
  }
}

function grammar(random: Random, depth: number): string {
  let text = ''
  for (let i = random.int(4) + 1; i > 0; i--) text += node(random, depth)
  return text
}

function node(random: Random, depth: number): string {
  const trim = (): string => random.int(8) === 0 ? '~' : ''
  const kind = depth <= 0 ? random.int(4) : random.int(10)
  const value = (): string => expression(random, 2)
  switch (kind) {
    case 0:
      return random.pick(['text ', '<p>', '\n', '"', "'", '\\', ...ATTACKS])
    case 1:
      return `{{${trim()} ${value()} ${trim()}}}`
    case 2:
      return `{{{ ${value()} }}}`
    case 3:
      return `{{${trim()}!-- ${random.pick(ATTACKS)} --${trim()}}}`
    case 4:
    case 5:
      return `{{#if ${value()}}}${grammar(random, depth - 1)}{{else if ${value()}}}x{{else}}${
        grammar(random, depth - 1)
      }{{/if}}`
    case 6:
    case 7:
      return `{{#each ${random.pick(['list', 'rows', 'deep', value()])} as ${
        random.pick(['x', 'x, k', 's', 'o'])
      }}}${grammar(random, depth - 1)}{{else}}none{{/each}}`
    case 8:
      return `{{> ${random.pick(['part', 'self', 'part.dve', 'nope', '../up'])} ${
        random.pick(['', `x=${value()}`])
      }}}`
    default:
      return `{{< base}}{{#block main}}${grammar(random, depth - 1)}{{/block}}{{/}}`
  }
}

/** Cuts, doubles, replaces or inserts a few pieces. */
function mutate(random: Random, text: string): string {
  let result = text
  for (let i = random.int(3); i > 0; i--) {
    const from = random.int(result.length + 1)
    const to = Math.min(result.length, from + random.int(6))
    const piece = random.pick([
      '',
      random.pick(WORDS),
      random.pick(ATTACKS),
      result.slice(from, to).repeat(2),
    ])
    result = result.slice(0, from) + piece + result.slice(to)
  }
  return result
}

function noise(random: Random): string {
  let text = ''
  for (let i = random.int(40); i > 0; i--) {
    text += random.int(3) === 0 ? '{{' : String.fromCharCode(random.int(random.int(10) === 0 ? 65_536 : 128))
  }
  return text
}

function words(random: Random): string {
  let text = ''
  for (let i = random.int(25); i > 0; i--) {
    text += random.int(12) === 0 ? random.pick(ATTACKS) : random.pick(WORDS)
  }
  return text
}

function template(random: Random): string {
  const kind = random.int(6)
  if (kind < 3) return mutate(random, grammar(random, random.int(3)))
  return kind < 5 ? words(random) : noise(random)
}

Deno.test(`${COUNT} random templates neither hang nor crash nor become code`, async () => {
  const viewsDir = await Deno.makeTempDir()
  await Deno.writeTextFile(join(viewsDir, 'part.dve'), '[{{ x }}{{ @index }}]')
  await Deno.writeTextFile(
    join(viewsDir, 'self.dve'),
    '{{#each deep as x}}{{ x }}{{> self}}{{> self}}{{/each}}',
  )
  await Deno.writeTextFile(join(viewsDir, 'base.dve'), '<{{#slot main}}d{{/slot}}{{ a }}>')
  const engine = new Engine({
    viewsDir,
    filters: { up: (value) => typeof value === 'string' ? value.toUpperCase() : value },
    maxIterations: 50,
    maxRenderIterations: 500,
    maxOutputSize: 20_000,
  })
  const touched: string[] = []
  const data = {
    a: '<&>',
    b: { a: 1, x: { a: 2 } },
    list: [1, 'two', null],
    rows: { k: [1, 2], l: 'x' },
    deep: [[1], [2]],
    toString: () => touched.push('toString'),
    valueOf: () => touched.push('valueOf'),
    s: 1,
    o: { toString: () => touched.push('o') },
  }
  const before = JSON.stringify(data)
  const globals = Object.getOwnPropertyNames(globalThis).length
  const prototype = Object.getOwnPropertyNames(Object.prototype).length
  const random = createRandom(42)
  let rendered = 0
  try {
    for (let i = 0; i < COUNT; i++) {
      const source = template(random)
      try {
        const page = engine.compile(source)
        const output = page.render(data)
        rendered++
        // The other back end makes other code of the same tree; its output has no lone surrogates.
        if (i % 10 === 0) {
          assertEquals(await new Response(page.stream(data, { chunkSize: 7 })).text(), output.toWellFormed())
        }
      } catch (error) {
        if (!(error instanceof TemplateError)) {
          throw new Error(`Cannot survive template ${i}: ${JSON.stringify(source)}`, { cause: error })
        }
      }
      if ('__canary' in globalThis || 'polluted' in Object.prototype) {
        throw new Error(`Cannot keep template ${i} from being code: ${JSON.stringify(source)}`)
      }
    }
  } finally {
    await Deno.remove(viewsDir, { recursive: true })
  }
  assert(rendered > COUNT / 10 && rendered < COUNT, `${rendered} rendered`)
  assertEquals(touched, [])
  assertEquals(JSON.stringify(data), before)
  assertEquals(Object.getOwnPropertyNames(globalThis).length, globals)
  assertEquals(Object.getOwnPropertyNames(Object.prototype).length, prototype)
})
