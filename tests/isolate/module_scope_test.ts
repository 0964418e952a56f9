/** What a module of a program knows of itself, and what it may require: as if it had been loaded, not bundled. */
import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { toHostError } from '../../src/isolate/plan/stack.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, withGuest } from './guest_process.ts'

/** The answer of a program to its first handler, as JSON. */
async function told(files: Readonly<Record<string, string>>): Promise<unknown> {
  let answer: unknown
  await withGuest(files, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    answer = JSON.parse(text)
  })
  await stopEsbuild()
  return answer
}

const DESCRIBE = (name: string) =>
  `export const ${name} = [import.meta.url, import.meta.filename, import.meta.dirname, import.meta.main, import.meta.resolve('./x.ts')]`

Deno.test('each module has its own import.meta, in which the project is the root', async () => {
  const files = {
    'deno.json': '{}',
    'a b.ts': `
      import { inner } from './node_modules/pkg/lib/inner.mjs'
      import { helper, type Word } from './_helper.ts'
      export const isolated = true
      ${DESCRIBE('own')}
      const word: Word = 'typed'
      export const GET = () => Response.json({ own, helper, inner, word, keys: Object.keys(import.meta), builtin: import.meta.resolve('fs'), text: 'import.meta' })`,
    '_helper.ts': `${DESCRIBE('helper')}\nexport type Word = string`,
    'node_modules/pkg/lib/inner.mjs': DESCRIBE('inner'),
    'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0" }',
  }
  assertEquals(await told(files), {
    own: ['file:///a%20b.ts', '/a b.ts', '/', false, 'file:///x.ts'],
    helper: ['file:///_helper.ts', '/_helper.ts', '/', false, 'file:///x.ts'],
    inner: [
      'file:///node_modules/pkg/lib/inner.mjs',
      '/node_modules/pkg/lib/inner.mjs',
      '/node_modules/pkg/lib',
      false,
      'file:///node_modules/pkg/lib/x.ts',
    ],
    word: 'typed',
    keys: ['url', 'main', 'filename', 'dirname', 'resolve'],
    builtin: 'node:fs',
    text: 'import.meta',
  })
})

Deno.test('a module of CommonJS knows its file and folder, another does not', async () => {
  const files = {
    'deno.json': '{}',
    'a.ts': `
      import pkg from './node_modules/pkg/lib/index.js'
      import own from './_own.cjs'
      export const isolated = true
      export const GET = () => Response.json({ pkg, own, here: [typeof __dirname, typeof __filename] })`,
    '_own.cjs': `'use strict'\nmodule.exports = [__filename, __dirname]`,
    'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0" }',
    'node_modules/pkg/lib/index.js':
      `const path = require('path')\nmodule.exports = [path.join(__dirname, 'x'), __filename, ((__dirname) => __dirname)('shadowed'), 'no import.meta here']`,
  }
  assertEquals(await told(files), {
    pkg: ['/node_modules/pkg/lib/x', '/node_modules/pkg/lib/index.js', 'shadowed', 'no import.meta here'],
    own: ['/_own.cjs', '/'],
    here: ['undefined', 'undefined'],
  })
})

Deno.test('createRequire finds what the bundle has and the modules of Node, and nothing else', async () => {
  const files = {
    'deno.json': '{}',
    'a.ts': `
      import module, { createRequire, builtinModules } from 'node:module'
      import { createRequire as make } from 'module'
      import { version } from './node_modules/pkg/index.js'
      export const isolated = true
      const require = createRequire(import.meta.url)
      const load = make(import.meta.filename)
      const attempt = (get) => { try { return get() } catch (error) { return [error.code, error.message] } }
      const name = ['node:', 'os'].join('')
      export const GET = () => Response.json({
        json: require('./_data.json').n, own: load("./_own.cjs"), pkg: load('./node_modules/cjs').word, once: createRequire(import.meta.url)('./_once.cjs'),
        builtin: [typeof require('fs').readFileSync, require(name).EOL, require.resolve('node:fs')], version,
        same: [module.createRequire === createRequire, builtinModules.includes('fs')],
        lost: attempt(() => require('./_lost.cjs')), unknown: attempt(() => require(['no', 'where'].join('-'))),
        addOn: attempt(() => load('./_x.node')),
      })`,
    '_data.json': '{ "n": 5 }',
    '_own.cjs': `exports.own = true`,
    '_once.cjs': `module.exports = 'once'`,
    '_x.node': 'ELF',
    'node_modules/cjs/index.js': `exports.word = 'cjs'`,
    'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.2.3", "type": "module" }',
    'node_modules/pkg/index.js':
      `import { createRequire as __cr } from 'module'; const require = __cr(import.meta.url)\nexport const { version } = require('./package.json')`,
  }
  const { lost, unknown, addOn, ...found } = await told(files) as Record<string, string[]>
  assertEquals<unknown>(found, {
    json: 5,
    own: { own: true },
    pkg: 'cjs',
    once: 'once',
    builtin: ['function', '\n', 'node:fs'],
    version: '1.2.3',
    same: [true, true],
  })
  for (const [code, message] of [lost, unknown]) {
    assertEquals(code, 'MODULE_NOT_FOUND')
    assertMatch(message, /^Cannot find module '.*': it is not in the program, /)
  }
  assertStringIncludes(addOn[1], 'is a native add-on')
})

Deno.test('a require that is made at run time finds modules of Node, as in a module of CommonJS', async () => {
  const files = {
    'deno.json': '{}',
    'a.ts': `
      import pkg from './node_modules/pkg/index.js'
      export const isolated = true
      export const GET = () => Response.json(pkg)`,
    'node_modules/pkg/index.js': `
      const name = ['util'].join('')
      const attempt = (get) => { try { return get() } catch (error) { return error.code ?? error.message } }
      module.exports = [
        typeof require(name).inspect, attempt(() => require('no-' + 'such')), require.main === module, attempt(() => require.resolve('lost')),
        attempt(() => typeof eval('require')('os').EOL), typeof module.createRequire,
      ]`,
  }
  assertEquals(await told(files), [
    'function',
    'MODULE_NOT_FOUND',
    false,
    'MODULE_NOT_FOUND',
    'string',
    'undefined',
  ])
})

Deno.test('a stack of a module with its own import.meta names its lines', async () => {
  const files = {
    'deno.json': '{}',
    'a.ts': `export const isolated = true
type Unused = { line: 2 }
export function GET(): Response {
  throw new Error(import.meta.filename)
}`,
  }
  await withGuest(files, async (guest) => {
    const { error } = (await ask(guest, {})).head
    assertEquals(error!.message, '/a.ts')
    assertStringIncludes(toHostError(guest.program.stacks, error!).stack!, 'a.ts:4')
  })
  await stopEsbuild()
})
