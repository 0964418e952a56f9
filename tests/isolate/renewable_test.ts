import { assert, assertEquals, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { bundleProgram } from '../../src/isolate/bundle.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { makeRenewable } from '../../src/isolate/renewable.ts'

const MODULE = `import { counted } from './helper.cjs'
let requests = 0
const seen = new Set()
export const GET = (ctx) => { requests++; seen.add(requests); return [requests, seen.size, counted()] }
`
const HELPER = `let count = 0
exports.counted = () => ++count
`

/** Runs a bundle's modules without a guest: `serve` is replaced by a function that gives the entry away. */
async function loadEntry(
  code: string,
): Promise<{ renew(): void; modules: (() => Promise<Record<string, unknown>>)[] }> {
  const script = code.replace(/\nserve\(\{/, '\nglobalThis.__entry = ({').replace(
    /\nimport { serve }.*\n.*revokeSync.*/,
    '',
  )
  assert(script !== code)
  const key = '__entry'
  await import(`data:text/javascript,${encodeURIComponent(script)}`)
  return (globalThis as unknown as Record<string, never>)[key]
}

Deno.test("renewed modules of both kinds begin anew, and only the application's", async () => {
  const folder = await Deno.makeTempDir()
  const { random } = Math
  try {
    await Deno.writeTextFile(join(folder, 'route.ts'), MODULE)
    await Deno.writeTextFile(join(folder, 'helper.cjs'), HELPER)
    const handlers = [{ name: 'route.ts GET', file: 0, export: 'GET' }]
    const bundle = await bundleProgram({
      files: [join(folder, 'route.ts')],
      handlers,
      outputBytes: 1,
      logBytes: 1,
      runtime: 'deno',
      memoryBytes: 1,
    })
    const code = new TextDecoder().decode(bundle.code)
    const { renew, modules } = await loadEntry(code)
    const call = async () => ((await modules[0]()).GET as () => number[])()
    assertEquals([await call(), await call()], [[1, 1, 1], [2, 2, 2]])
    renew()
    assertEquals([await call(), await call()], [[1, 1, 1], [2, 2, 2]])
  } finally {
    Math.random = random
    await stopEsbuild()
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('makeRenewable keeps every line in its place and refuses helpers that it does not know', () => {
  const known = '\\nvar __commonJS = (cb, mod) => function __require() {\\n  body\\n};\\nrest'.replaceAll(
    '\\n',
    '\n',
  )
  const renewable = makeRenewable(known)
  assertEquals(renewable.split('\n').length, known.split('\n').length)
  assert(renewable.includes('__mayflyKeep'))
  assertThrows(() => makeRenewable('\nvar __esm = (x) => x\n};'), Error, 'unknown')
  assertEquals(makeRenewable('no helpers'), 'no helpers')
})
