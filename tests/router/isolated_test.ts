import { assertEquals, assertRejects } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { mayBeIsolated, readExports } from '../../src/router/load/isolated.ts'
import { SourceError } from '../../src/router/load/load_error.ts'

const isolated: [name: string, source: string][] = [
  ['a constant', `export const isolated = true`],
  ['an object', `export const isolated = { memory: 64 }`],
  ['the last statement', `throw new Error('ran')\nexport const isolated = true`],
  ['a later declarator', `export const a = 1, isolated = true`],
  ['an export list', `const isolated = true\nexport { isolated }`],
  ['an export list before the declaration', `export { isolated }\nconst isolated = true`],
  ['another name', `const x = true\nexport { x as isolated }`],
  ['a string name', `const x = true\nexport { x as 'isolated' }`],
  ['a string name with an escape', `const x = true\nexport { x as 'isol\\x61ted' }`],
  ['a string name over two lines', `const x = true\nexport { x as 'isol\\\nated' }`],
  ['an identifier with an escape', `export const \\u0069solated = true`],
  ['an identifier with a long escape', `export const is\\u{6f}lated = true`],
  ['a pattern', `export const { isolated } = { isolated: true }`],
  ['an array pattern', `export const [isolated] = [true]`],
  ['a comment that says false', `/* export const isolated = false */ export const isolated = true`],
  ['a line comment that says false', `// export const isolated = false\nexport const isolated = true`],
  [
    'a template that says false',
    'const t = `\nexport const isolated = false\n`\nexport const isolated = true',
  ],
  [
    'a template that says false, after effects',
    'log(`\nconst isolated = false;\n`)\nexport const isolated = true',
  ],
  [
    'a comment in an import that says false',
    'log(import(/*\nconst isolated = false;\n*/ "x"))\nexport const isolated = true',
  ],
  [
    'a template that says false, and another name',
    'log(`\nconst isolated = false;\n`)\nconst yes = true\nexport { yes as isolated }',
  ],
  ['a local that says false', `const isolated = false\nconst y = true\nexport { y as isolated }`],
  ['a nested false', `{ const isolated = false; isolated }\nexport const isolated = true`],
  ['no spaces', `export const isolated=true;export const GET=()=>1`],
  ['a comment between the words', `export/**/const/*\n*/isolated/* = false */=true`],
  ['a type', `export const isolated: boolean = true`],
  ['an assertion', `export const isolated = true as const`],
  ['a variable that turns', `export let isolated = false\nisolated = true`],
  ['a function', `export function isolated() {}`],
  ['a class', `export class isolated {}`],
  ['another module', `export { isolated } from './x.ts'`],
  ['another module by another name', `export { yes as isolated } from './x.ts'`],
  ['a namespace', `export * as isolated from './x.ts'`],
  ['an import', `import { isolated } from './x.ts'\nexport { isolated }`],
  ['a value that is computed', `export const isolated = Math.random() > 2`],
  ['a global that could be false', `export const isolated = globalThis.no`],
  ['a value that names itself', `export const isolated = isolated`],
  ['constants that name each other', `const a = b, b = a\nexport { a as isolated }`],
  ['a regular expression of sets', `const r = /[\\p{L}--[a-z]]/v\nexport const isolated = true`],
  ['a decorated class', `@f class A { @g accessor x = 1; #y }\nexport const isolated = true`],
  ['a decorated parameter', `class A { constructor(@f x: string) {} }\nexport const isolated = true`],
  [
    'an import with attributes',
    `import x from './x.json' with { type: 'json' }\nexport const isolated = true`,
  ],
  ['an import that is deferred', `import defer * as x from './x.ts'\nexport const isolated = true`],
  ['a resource of the module', `using x = open()\nexport const isolated = true`],
  ['an unterminated look', `const r = /[/*]/\nexport const isolated = true // */`],
  ['a division that looks like a regular expression', `const a = 1 / 2; export const isolated = true; a / 3`],
  ['a byte order mark', `\ufeffexport const isolated = true`],
]

for (const [name, source] of isolated) {
  Deno.test(`readExports sees isolated through ${name}`, async () => {
    assertEquals(mayBeIsolated(source), true)
    assertEquals((await readExports('/site/a.ts', source)).isolated, true)
  })
}

const normal: [name: string, source: string][] = [
  ['false', `export const isolated = false`],
  ['a false by another name', `const no = false\nexport { no as isolated }`],
  ['a typed false with effects around it', `log()\nexport const isolated: boolean = false as boolean\nlog()`],
  ['a false that others read', `export const isolated = false, b = 1\nexport const GET = () => isolated`],
  ['a false of another constant', `const no = false\nexport const isolated = no`],
  ['a false that is calculated', `export const isolated = !1`],
  ['zero', `export const isolated = 0`],
  ['a false after effects', `const db = open()\nexport const isolated = false\nexport const GET = () => db`],
  ['a false after a template', 'log(`\\nexport const isolated = true\\n`)\nexport const isolated = false'],
  ['a comment', `/* export const isolated = true */\nexport const GET = () => 1`],
  ['a line comment', `// export const isolated = true\nexport const GET = () => 1`],
  ['a string', `export const s = 'export const isolated = true'`],
  ['a template', 'export const s = `\nexport const isolated = true\n`'],
  ['a nested template', 'export const s = `${`\nexport const isolated = true\n`}`'],
  ['a regular expression', `export const r = /export const isolated = true/`],
  ['a local', `const isolated = true\nexport const GET = () => isolated`],
  ['a nested scope', `export function GET() { const isolated = true; return isolated }`],
  ['a property', `export const o = { isolated: true }`],
  ['a type', `export type isolated = true`],
  ['an interface', `export interface isolated { a: 1 }`],
  ['a longer name', `export const isolatedFrom = true`],
  ['a default export', `const isolated = true\nexport default { isolated }`],
  ['a type-only list', `type isolated = 1\nexport type { isolated }`],
]

for (const [name, source] of normal) {
  Deno.test(`readExports does not take ${name} for isolated`, async () => {
    assertEquals((await readExports('/site/a.ts', source)).isolated, false)
  })
}

Deno.test('readExports reads JSX, where quotes and comments are text', async () => {
  const text = `<p>it's // not export const isolated = true</p>`
  const tsx = `export const GET = () => ${text}\n`
  assertEquals((await readExports('/site/a.tsx', tsx)).isolated, false)
  assertEquals((await readExports('/site/a.jsx', tsx)).isolated, false)
  assertEquals((await readExports('/site/a.tsx', tsx + `export const isolated = true`)).isolated, true)
  assertEquals((await readExports('/site/a.jsx', tsx + `export const isolated = true`)).isolated, true)
})

Deno.test('readExports lists methods and the default export', async () => {
  const source = `export const isolated = true
    export async function POST() {}
    export const GET = () => 1, other = 2
    const put = () => 3
    export { put as PUT }
    export default { fetch() {} }`
  assertEquals(await readExports('/site/a.mjs', source), {
    isolated: true,
    methods: ['GET', 'POST', 'PUT'],
    hasDefault: true,
    hasProgram: false,
    names: ['isolated', 'POST', 'GET', 'other', 'PUT', 'default'],
  })
})

Deno.test('readExports tells where a module does not parse', async () => {
  const error = await assertRejects(
    () => readExports('/site/a.ts', `export const isolated = true\nconst x: = 3`),
    SourceError,
    'Unexpected "="',
  )
  assertEquals(error.place, { file: '/site/a.ts', line: 2, column: 10 })
})

Deno.test('readExports tells of what only acorn refuses, at its place in the source', async () => {
  const error = await assertRejects(
    () => readExports('/site/a.ts', `type A = 1\n\nexport const isolated = true, r: RegExp = /(/`),
    SourceError,
    'Invalid regular expression',
  )
  assertEquals(error.place, { file: '/site/a.ts', line: 3, column: 43 })
})

Deno.test('readExports refuses what is nested too deeply', async () => {
  const source = `export const isolated = ${'['.repeat(20_000)}${']'.repeat(20_000)}`
  await assertRejects(() => readExports('/site/a.ts', source), SourceError, 'stack')
})

Deno.test('mayBeIsolated lets plain modules by', () => {
  assertEquals(mayBeIsolated(`export const GET = () => new Response('\\n')`), false)
})

Deno.test('stopEsbuild lets the next read start anew', async () => {
  await stopEsbuild()
  await stopEsbuild()
  assertEquals((await readExports('/site/a.ts', `export const isolated = true`)).isolated, true)
  await stopEsbuild()
})
