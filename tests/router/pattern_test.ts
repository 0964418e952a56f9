import { assertEquals, assertThrows } from '@std/assert'
import { patternOf } from '../../src/router/load/classify.ts'
import { expandOptional, parsePattern, shapeOf } from '../../src/router/match/pattern.ts'

const files: [file: string, pattern: string, shapes: string[]][] = [
  ['index.ts', '/', ['/']],
  ['users.ts', '/users', ['/users']],
  ['users/index.tsx', '/users', ['/users']],
  ['index/a.ts', '/index/a', ['/index/a']],
  ['users/[id].ts', '/users/[id]', ['/users/[]']],
  ['users/[id]/index.js', '/users/[id]', ['/users/[]']],
  ['files/[...rest].mjs', '/files/[...rest]', ['/files/[...]']],
  ['files/[[...rest]].ts', '/files/[[...rest]]', ['/files/[...]', '/files']],
  ['[[lang]]/about.jsx', '/[[lang]]/about', ['/[]/about', '/about']],
  ['[[a]]/[[b]].ts', '/[[a]]/[[b]]', ['/[]/[]', '/[]', '/']],
  ['user-[id].ts', '/user-[id]', ['/user-[]']],
  ['[id].json.ts', '/[id].json', ['/[].json']],
  ['pre-[id]-post.ts', '/pre-[id]-post', ['/pre-[]-post']],
  ['(site)/index.ts', '/', ['/']],
  ['(site)/(inner)/about.ts', '/about', ['/about']],
  ['a/(site)/[id].ts', '/a/[id]', ['/a/[]']],
  ['[...rest]/index.ts', '/[...rest]', ['/[...]']],
  ['caf\u00e9.ts', '/caf\u00e9', ['/caf\u00e9']],
  ['cafe\u0301.ts', '/caf\u00e9', ['/caf\u00e9']],
  ['100%.ts', '/100%', ['/100%']],
  ['copy (1).ts', '/copy (1)', ['/copy (1)']],
  ['v1.2.ts', '/v1.2', ['/v1.2']],
  ['[__proto__].ts', '/[__proto__]', ['/[]']],
  ['[user-id].ts', '/[user-id]', ['/[]']],
]

for (const [file, pattern, shapes] of files) {
  Deno.test(`patternOf reads ${file}`, () => {
    const parsed = patternOf(file)
    assertEquals(parsed.text, pattern)
    assertEquals(expandOptional(parsed).map(shapeOf), shapes)
    if (!pattern.includes('%')) assertEquals(parsePattern(pattern), parsed)
  })
}

const malformed: [file: string, message: string][] = [
  ['[].ts', 'parameter name'],
  ['[...].ts', 'parameter name'],
  ['[[]].ts', 'parameter name'],
  ['[1d].ts', 'parameter name'],
  ['[a b].ts', 'parameter name'],
  ['[a.ts', '[name]'],
  ['a].ts', '[name]'],
  ['[[a].ts', '[name]'],
  ['[a]].ts', '[name]'],
  ['][.ts', '[name]'],
  ['[a]-[b].ts', 'one [name]'],
  ['x-[[a]].ts', 'whole segment'],
  ['x-[...a].ts', 'whole segment'],
  ['[a]/[a].ts', `'a' comes twice`],
  ['[...rest]/edit.ts', 'as last segment'],
  ['[[...rest]]/[id].ts', 'as last segment'],
  ['(site).ts', 'to be a folder'],
  ['(site/a.ts', 'a group as (name)'],
  ['()/a.ts', 'a group as (name)'],
  ['[[a]]/[[b]]/[[c]]/[[d]]/[[e]].ts', 'at most 4 optional'],
  ['a\\b.ts', 'no backslash'],
]

for (const [file, message] of malformed) {
  Deno.test(`patternOf refuses ${file}`, () => {
    assertThrows(() => patternOf(file), SyntaxError, message)
  })
}

Deno.test('parsePattern wants a leading slash and whole segments', () => {
  assertThrows(() => parsePattern('users'), SyntaxError, `'users', wanted a leading '/'`)
  assertThrows(() => parsePattern(''), SyntaxError, 'wanted a leading')
  assertThrows(() => parsePattern('/a//b'), SyntaxError, 'no empty')
  assertThrows(() => parsePattern('/a/'), SyntaxError, 'no empty')
  assertThrows(() => parsePattern('/../a'), SyntaxError, 'no empty')
})
