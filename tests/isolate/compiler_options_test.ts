/** TypeScript and JSX as `deno.json` wants them, and WebAssembly by import. */
import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, withGuest } from './guest_process.ts'

/** The answer of a program's first handler. */
async function told(files: Readonly<Record<string, string>>, options: unknown = {}): Promise<unknown> {
  let answer: unknown
  const all = { 'deno.json': JSON.stringify({ compilerOptions: options }), ...files }
  await withGuest(all, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    answer = JSON.parse(text)
  })
  await stopEsbuild()
  return answer
}

const JSX = `
  export const isolated = true
  const page = <main id="a"><>b</><i>{1 + 1}</i></main>
  export const GET = () => Response.json(page)`
const RUNTIME = {
  '_h.ts':
    `export const h = (kind, props, ...children) => ['h', kind, props, ...children]\nexport const F = 'F'`,
  'node_modules/tags/package.json': '{ "name": "tags", "version": "1.0.0" }',
  'node_modules/tags/jsx-runtime.js':
    `exports.jsx = exports.jsxs = (kind, { children, ...props }) => ['tags', kind, props, children]\nexports.Fragment = 'Fragment'`,
}
const CLASSIC = ['h', 'main', { id: 'a' }, ['h', 'F', null, 'b'], ['h', 'i', null, 2]]
const AUTOMATIC = ['tags', 'main', { id: 'a' }, [['tags', 'Fragment', {}, 'b'], ['tags', 'i', {}, 2]]]

Deno.test('JSX becomes calls of the functions that the options name', async () => {
  const options = { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'F' }
  const route = { ...RUNTIME, 'a.tsx': `import { F, h } from './_h.ts'\n${JSX}` }
  assertEquals(await told(route, options), CLASSIC)
})

Deno.test('JSX imports the runtime that the options name', async () => {
  for (const jsx of ['react-jsx', 'react-jsxdev', 'precompile', undefined]) {
    const options = { jsx, jsxImportSource: './node_modules/tags' }
    const files = { ...RUNTIME, 'a.tsx': JSX }
    // The resolver of a file adds no extension, so the source is one with a file of that name.
    const named = { ...files, 'node_modules/tags/jsx-runtime': RUNTIME['node_modules/tags/jsx-runtime.js'] }
    assertEquals(await told(named, options).catch((error) => error.message), AUTOMATIC, jsx)
  }
})

Deno.test('a file may name its own functions for JSX', async () => {
  const head = `/** @jsx h */\n/** @jsxFrag F */\nimport { F, h } from './_h.ts'\n`
  for (const options of [{}, { jsx: 'react-jsx', jsxImportSource: 'react' }]) {
    assertEquals(await told({ ...RUNTIME, 'a.tsx': head + JSX }, options), CLASSIC)
  }
})

Deno.test('decorators of the standard run', async () => {
  const source = `
    const told: string[] = []
    function note(value: unknown, { kind, name }: { kind: string; name: unknown }) { told.push(kind + ' ' + String(name)); return value as never }
    @note class A {
      @note method() { return 1 }
      @note static field = 2
      @note accessor word = 'w'
      @note #hidden = 3
      get hidden() { return this.#hidden }
    }
    export const isolated = true
    export const GET = () => Response.json([told.sort(), new A().word, new A().hidden])`
  assertEquals(await told({ 'a.ts': source }), [
    ['accessor word', 'class A', 'field #hidden', 'field field', 'method method'],
    'w',
    3,
  ])
})

Deno.test('decorators of TypeScript run where the options ask for them, those of parameters too', async () => {
  const source = `
    const told: unknown[] = []
    const note = (...args: unknown[]) => void told.push([args.length, String(args[1]), typeof args[2]])
    @note export class A {
      constructor(@note x?: number) {}
      @note method(@note y: string) { return y }
      @note field = 1
    }
    export const isolated = true
    export const GET = () => Response.json(told)`
  assertEquals(await told({ 'a.ts': source }, { experimentalDecorators: true }), [
    [3, 'method', 'number'],
    [3, 'method', 'object'],
    [3, 'field', 'undefined'],
    [3, 'undefined', 'number'],
    [1, 'undefined', 'undefined'],
  ])
  const metadata = { experimentalDecorators: true, emitDecoratorMetadata: true }
  const error = await assertRejects(() => told({ 'a.ts': source }, metadata), Error)
  assertStringIncludes(error.message, 'emitDecoratorMetadata')
})

/** `(x, y) => twice(x + y)`, exported by two names; `twice` is imported from `./_env.ts`. */
const ADD = [
  '\0asm\x01\0\0\0',
  '\x01\x0c\x02\x60\x02\x7f\x7f\x01\x7f\x60\x01\x7f\x01\x7f',
  '\x02\x13\x01\x09./_env.ts\x05twice\0\x01',
  '\x03\x02\x01\0',
  '\x07\x12\x02\x03add\0\x01\x08odd name\0\x01',
  '\x0a\x0b\x01\x09\0\x20\0\x20\x01\x6a\x10\0\x0b',
].join('')

Deno.test('WebAssembly is imported as Deno has it', async () => {
  const files = {
    'a.ts': `
      import { add, 'odd name' as odd } from './_add.wasm'
      import * as all from './_add.wasm'
      export const isolated = true
      export const GET = () => Response.json([add(1, 2), odd(3, 4), Object.keys(all).sort()])`,
    '_env.ts': 'export const twice = (x: number) => 2 * x',
    '_add.wasm': ADD,
  }
  assertEquals(await told(files), [6, 14, ['add', 'odd name']])
  const broken = await assertRejects(() => told({ ...files, '_add.wasm': 'no wasm' }), Error)
  assertStringIncludes(broken.message, '_add.wasm')
  const core = files['a.ts'].replace('true', `{ runtime: 'core' }`)
  const missing = await assertRejects(() => told({ ...files, 'a.ts': core }), Error)
  assertStringIncludes(missing.message, `the runtime 'core' has no WebAssembly`)
})
