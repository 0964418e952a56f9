/** A name at the top of a module, whatever it is, is the module's own, and what fails for one program fails that one. */
import { assertEquals } from '@std/assert'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, toRoutes, withGuest, withRoutes } from './guest_process.ts'

/** Names that the bundler, the entry, the guest or a runtime uses, and those that only look special. */
const NAMES = [
  ...[
    'mod',
    'fn',
    'cb',
    'res',
    'err',
    'to',
    'from',
    'except',
    'desc',
    'target',
    'all',
    'key',
    'isNodeMode',
    'x',
  ],
  ...['__esm', '__commonJS', '__export', '__require', '__toESM', '__toCommonJS', '__copyProps', '__reExport'],
  ...[
    '__defProp',
    '__getOwnPropNames',
    '__hasOwnProp',
    '__create',
    '__name',
    '__publicField',
    '__decorateClass',
  ],
  ...['exports', 'module', 'require', '__dirname', '__filename', 'define', 'global', 'process', 'Buffer'],
  ...[
    'serve',
    'handlers',
    'modules',
    'host',
    'guest',
    'program',
    'program_default',
    'runtime',
    'import_runtime',
  ],
  ...[
    'Deno',
    'Response',
    'Request',
    'Object',
    'Promise',
    'Symbol',
    'Reflect',
    'Error',
    'globalThis',
    'console',
  ],
  ...['WebAssembly', 'Uint8Array', 'URL', 'fetch', 'crypto', 'Math', 'JSON', 'Proxy', 'React', 'h', 'jsx'],
  ...[
    'async',
    'of',
    'get',
    'set',
    'as',
    'type',
    'constructor',
    'hasOwnProperty',
    'toString',
    'valueOf',
    'then',
  ],
  ...[
    '$',
    '_',
    '$$',
    '__proto',
    'ünïcode',
    'ℵ',
    '名前',
    'a\\u0062c',
    'GET2',
    'isolated2',
    'default_1',
    'stdin_default',
  ],
]

const declare = (before: string, after = '') => NAMES.map((name, index) => `${before}${name}${after}${index}`)
/** How a module may come by a name; each name's value is its number, called where it is a function or a class. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  constants: declare('const ', ' = '),
  variables: declare('let ', ' = '),
  hoisted: declare('var ', ' = '),
  functions: declare('function ', '() { return ').map((line) => `${line} }`),
  classes: declare('class ', ' { static value = ').map((line) => `${line} }`),
  exported: declare('export const ', ' = '),
  imported: NAMES.map((name, index) => `import { v${index} as ${name} } from './_values.ts'`),
}
const VALUES = NAMES.map((_, index) => `export const v${index} = ${index}`).join('\n')
/** The handler looks at each name in turn, without any of them. */
const HANDLER = `
  export const isolated = true
  const read = (value) => typeof value === 'function' ? value.value ?? value() : value
  export const GET = (ctx) => ctx.send.json([${NAMES.map((name) => `read(${name})`).join(', ')}])`

for (const [kind, lines] of Object.entries(KINDS)) {
  Deno.test(`a module may have any name at its top: ${kind}`, async () => {
    const files = { 'names.js': `${lines.join('\n')}\n${HANDLER}`, '_values.ts': VALUES }
    await withGuest(files, async (guest) => {
      const { head, text } = await ask(guest, {})
      assertEquals(head.error, undefined)
      assertEquals(JSON.parse(text), NAMES.map((_, index) => index))
    })
    await stopEsbuild()
  })
}

Deno.test('what fails for one program fails that program alone, whatever it is', async () => {
  const handler = 'export function GET() { return new Response() }'
  const files = {
    'a.ts': `export const isolated = true\n${handler}`,
    'b.ts': `export const isolated = { env: ['MAYFLY_TEST_BROKEN'] }\n${handler}`,
    'c.ts': `export const isolated = { timeoutMs: 5 }\nimport './missing.ts'\n${handler}`,
    'd.ts': `export const isolated = { timeoutMs: 6 }\n${handler}`,
  }
  const readEnv = () => {
    throw new RangeError('no environment today')
  }
  await withRoutes(files, async (folder) => {
    const { programs, failures } = await planPrograms(toRoutes(folder, files), { readEnv })
    assertEquals(programs.flatMap(({ handlers }) => handlers.map(({ route }) => route.file)), [
      'a.ts',
      'd.ts',
    ])
    assertEquals(failures.map(({ route, error }) => [route.file, error.name]), [
      ['b.ts', 'RangeError'],
      ['c.ts', 'ProgramError'],
    ])
  })
  await stopEsbuild()
})
