/** Which modules are of CommonJS, and what they require, as their syntax trees tell. */
import { assertEquals } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { listCreatedRequires } from '../../src/compiler/module_requires.ts'
import { parseModule } from '../../src/compiler/module_tree.ts'
import { hasModuleSyntax } from '../../src/isolate/resolve/module_kind.ts'

const MODULES: readonly string[] = [
  'export const a = 1',
  `import x from 'y'`,
  `var a;import'b'`,
  'function f(){}export{f}',
  '/* license */ export default 5',
  'exports.a = import.meta.url',
]

const NO_MODULES: readonly string[] = [
  `import('x')`,
  '// import x\nexports.a = 1',
  'module.exports = `\nexport default 5`',
  `/*\nimport a from 'b'\n*/\nexports.a = 1`,
  `with (a) { import('b') }`,
  'export =',
]

Deno.test('a module is one of ES by its statements, not by its comments and texts', async () => {
  for (const text of MODULES) assertEquals(await hasModuleSyntax('/a.js', text), true, text)
  for (const text of NO_MODULES) assertEquals(await hasModuleSyntax('/a.js', text), false, text)
  assertEquals(await hasModuleSyntax('/a.cjs', MODULES[0]!), false)
  assertEquals(await hasModuleSyntax('/a.ts', 'export const a: number = 1'), true)
  await stopEsbuild()
})

const REQUIRES: readonly [text: string, found: string[], commonJs?: boolean][] = [
  [`import{createRequire as e}from"module";const t=e(import.meta.url);t("x")`, ['x']],
  [`const { createRequire: make } = require('module'); make(__filename)('a', 1)`, ['a']],
  ['const make = Module.createRequire\nlet load\nload = make(x)\nload(`b`)', ['b']],
  [
    `const load = createRequire(new URL('.', import.meta.url));\n/* load('no') */ const text = "load('no')"`,
    [],
  ],
  [`const load = createRequire(here)\nload(name); load('a' + name); other('c'); x.load('d')`, []],
  [`delete x; with (y) { createRequire(z)('e') }`, ['e'], true],
]

Deno.test('what createRequire gives requires what its calls name, whatever the functions are called', async () => {
  for (const [text, found, commonJs] of REQUIRES) {
    const { program } = await parseModule('/a.js', text, { everyImport: true, commonJs: commonJs === true })
    assertEquals(listCreatedRequires(program), found, text)
  }
  await stopEsbuild()
})
