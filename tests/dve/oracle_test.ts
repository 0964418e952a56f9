/** Random expressions over primitive data give what JavaScript gives. */
import { assert, assertEquals, assertInstanceOf } from '@std/assert'
import { Engine, TemplateError } from '../../src/dve/mod.ts'
import { createRandom, type Random } from './random.ts'

const DATA: Record<string, unknown> = {
  zero: 0,
  one: 1,
  half: -2.5,
  big: 9007199254740993,
  nan: NaN,
  inf: -Infinity,
  empty: '',
  text: 'abc',
  digits: '12',
  blank: ' 7 ',
  yes: true,
  no: false,
  nil: null,
  missing: undefined,
  huge: 123456789012345678901234567890n,
}
const NAMES = Object.keys(DATA)
const LITERALS = [
  '0',
  '1',
  '2.5',
  '.5',
  '1e3',
  '0x1f',
  '1_0',
  "'x'",
  '"12"',
  "''",
  "'\\u0041\\n'",
  'true',
  'false',
]
const WORDS = ['null', 'undefined']
const OPERATORS = '* / % + - < > <= >= == != === !== && || ??'.split(' ')

function expression(random: Random, depth: number): string {
  const kind = depth <= 0 ? random.int(3) : random.int(10)
  if (kind === 0) return random.pick(LITERALS)
  if (kind === 1) return random.pick(WORDS)
  if (kind === 2) return random.pick(NAMES)
  if (kind === 3) return random.pick(['!', '+', '-', '!!']) + ' ' + expression(random, depth - 1)
  if (kind === 4) return `(${expression(random, depth - 1)})`
  if (kind === 5) {
    return `${expression(random, depth - 1)} ? ${expression(random, depth - 1)} : ${
      expression(random, depth - 1)
    }`
  }
  return `${expression(random, depth - 1)} ${random.pick(OPERATORS)} ${expression(random, depth - 1)}`
}

/** What JavaScript makes of it: the value, or the class of what it throws. */
function oracle(source: string): { value: unknown } | { error: unknown } {
  try {
    const run = new Function(...NAMES, `"use strict";return (${source}\n)`)
    return { value: run(...NAMES.map((name) => DATA[name])) }
  } catch (error) {
    return { error }
  }
}

function print(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}

Deno.test('expressions give what JavaScript gives, or fail where it fails', () => {
  const random = createRandom(20261121)
  const engine = new Engine()
  let values = 0
  let errors = 0
  for (let i = 0; i < 12_000; i++) {
    const source = expression(random, 1 + random.int(4))
    const want = oracle(source)
    let got: string | TemplateError
    try {
      got = engine.compile(`{{{ ${source} }}}`).render(DATA)
    } catch (error) {
      assertInstanceOf(error, TemplateError)
      got = error
    }
    if ('error' in want) {
      errors++
      assertInstanceOf(got, TemplateError, `${source}: JavaScript throws ${want.error}, got ${got}`)
    } else {
      values++
      assertEquals(got, print(want.value), source)
    }
  }
  assert(values > 5_000 && errors > 200, `${values} values and ${errors} errors`)
})

Deno.test('conditions choose as JavaScript does', () => {
  const random = createRandom(7)
  const engine = new Engine()
  for (let i = 0; i < 2_000; i++) {
    const source = expression(random, 2)
    const want = oracle(source)
    if ('error' in want) continue
    assertEquals(
      engine.compile(`{{#if ${source}}}1{{else}}0{{/if}}`).render(DATA),
      want.value ? '1' : '0',
      source,
    )
  }
})
