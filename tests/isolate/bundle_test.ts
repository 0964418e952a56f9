import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { dirname, join } from '@std/path'
import { bundleProgram, bundleRuntime } from '../../src/isolate/bundle/bundle.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import * as facade from '../../src/isolate/guest/facade.ts'
import type { IsolateRuntime } from '../../src/isolate/plan/options.ts'
import { FACADE_NAMES } from '../../src/isolate/bundle/resolver.ts'
import { ask, withGuest, withRoutes } from './guest_process.ts'

function bundle(path: string, runtime: IsolateRuntime = 'deno') {
  return bundleProgram({
    root: dirname(path),
    files: [path],
    handlers: [{ name: 'a', file: 0, export: 'GET' }],
    outputBytes: 100,
    logBytes: 100,
    runtime,
  })
}

Deno.test('a bundle is the same bytes each time and holds no host code', async () => {
  const source =
    `import { HttpError } from '@mayfly/mayfly'\nimport './_b.ts'\nexport function GET() { throw new HttpError(400) }`
  await withRoutes({ 'a.ts': source, '_b.ts': 'export {}' }, async (folder) => {
    const first = await bundle(join(folder, 'a.ts'))
    await stopEsbuild()
    assertEquals(await bundle(join(folder, 'a.ts')), first)
    assertEquals(
      first.inputs,
      [join(folder, '_b.ts'), join(folder, 'a.ts')],
      'what is the guest is no part of it',
    )
    assertStringIncludes(new TextDecoder().decode(first.code), 'from "./runtime.js"')
  })
})

Deno.test('the guest is bundled once and holds no host code', async () => {
  const first = await bundleRuntime('deno')
  assertEquals(await bundleRuntime('deno'), first)
  const root = new URL('../../', import.meta.url).pathname
  const rooms = first.inputs.filter((path) => path.startsWith(`${root}src/`)).map((path) =>
    path.slice(root.length + 4).split('/')[0]
  )
  assertEquals([...new Set(rooms)].sort(), [
    'addresses',
    'compiler',
    'context',
    'errors',
    'events',
    'isolate',
    'reach',
    'std',
    'values',
  ])
  const reach = first.inputs.filter((path) => path.includes('/src/reach/'))
  assertEquals(
    reach.filter((path) => !/\/guest\/|\/(?:pieces|protocol|close_code|streams)\.ts$/.test(path)),
    [],
  )
  const own = first.inputs.filter((path) =>
    /\/src\/(?:compiler|isolate)\//.test(path) && !path.includes('/guest/')
  )
  assertEquals(own.map((path) => path.split('/').at(-1)), [
    'hook.ts',
    'json_members.ts',
    'message.ts',
    'message_frame.ts',
    'request_line.ts',
    'wire.ts',
  ])
  assertEquals(first.inputs.includes(`${root}mod.ts`), false)
  await stopEsbuild()
})

Deno.test('the guest of the core runtime has nothing of Deno or Node', async () => {
  const { code, inputs } = await bundleRuntime('core')
  const text = new TextDecoder().decode(code)
  assertEquals(text.match(/(?:from|import) *["'][^"']+["']/g), null)
  assertEquals(inputs.some((path) => path.endsWith('/deno_host.ts')), false)
  const routes = {
    'a.ts': `import './b.ts'\nexport function GET() {}`,
    'b.ts': `import 'node:fs'`,
    'c.ts': `export const GET = () => process.env.NODE_ENV`,
  }
  await withRoutes(routes, async (folder) => {
    const error = await assertRejects(() => bundle(join(folder, 'a.ts'), 'core'), ProgramError)
    assertStringIncludes(
      error.message,
      "import 'node:fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    )
    assertStringIncludes(error.message, 'b.ts:1:8')
    const { code } = await bundle(join(folder, 'c.ts'), 'core')
    assertStringIncludes(new TextDecoder().decode(code), '() => "production"')
  })
  await stopEsbuild()
})

Deno.test('what a program may import of Mayfly is what the facade exports', () => {
  assertEquals(FACADE_NAMES, Object.keys(facade))
})

Deno.test('bundleProgram names file and line of what cannot be bundled', async () => {
  const cases: [source: string, line: number, text: string][] = [
    [`\nimport './missing.ts'`, 2, 'there is no file'],
    [`import 'no-such-package'`, 1, 'no-such-package'],
    [`\n\nimport { Router } from '@mayfly/mayfly'\nexport const r = new Router()`, 3, 'No matching export'],
    [`import { nothing } from './_b.ts'\nexport const n = nothing`, 1, 'No matching export'],
    [`export const x = 1\nexport const = 2`, 2, 'Expected'],
    [`import 'npm:mayfly-no-such-package-in-any-lock@1.0.0'`, 1, 'Deno does not find the package'],
    [`import 'ftp://x/y.ts'`, 1, `import 'ftp://x/y.ts'`],
  ]
  for (const [source, line, text] of cases) {
    await withRoutes({ 'a.ts': source, '_b.ts': 'export {}' }, async (folder) => {
      const path = join(folder, 'a.ts')
      const error = await assertRejects(() => bundle(path), ProgramError, text, source)
      assertEquals([error.place?.file, error.place?.line], [path, line], error.message)
      assertStringIncludes(error.message, `${path}:${line}:`)
    })
  }
  await stopEsbuild()
})

Deno.test('a guest runs npm packages, Node built-ins, JSON and TypeScript of every kind', async () => {
  const files = {
    'all.ts': `
      import { Hono } from 'npm:hono@4.13.19/tiny'
      import { cors } from 'hono/cors'
      import ipaddr from 'ipaddr.js'
      import { join } from 'node:path'
      import { Buffer } from 'node:buffer'
      import data from './_data.json' with { type: 'json' }
      import old, { named } from './node_modules/old/index.js'
      import { Kind } from './_kind.mts'
      export const isolated = true
      const later = () => import('./_later.js')
      const top = await Promise.resolve('top')
      export async function GET() {
        return Response.json([typeof Hono, typeof cors, ipaddr.isValid('1.2.3.4'), join('a', 'b'), Buffer.from('x').toString('hex'), data.n,
          old.sum(1, 2), named, Kind.B, (await later()).default, top])
      }`,
    '_data.json': '{"n":5}',
    '_kind.mts':
      'export enum Kind { A, B }\nexport abstract class C { constructor(private readonly x: number) {} }',
    '_later.js': `export default 'later'`,
    'node_modules/old/index.js':
      `const { sum } = require('./lib')\nconst os = require('os')\nmodule.exports = { sum, named: typeof require('node:events') + os.EOL.length }`,
    'node_modules/old/lib/index.js': `exports.sum = (a, b) => a + b`,
  }
  await withGuest(files, async (guest) => {
    const { text, head } = await ask(guest, {})
    assertEquals(head.error, undefined)
    assertEquals(JSON.parse(text), [
      'function',
      'function',
      true,
      'a/b',
      '78',
      5,
      3,
      'function1',
      1,
      'later',
      'top',
    ])
  })
})

Deno.test('an import of a module of CommonJS gives what Deno gives', async () => {
  const once = `exports.__esModule = true\nexports.named = 1\nexports.default = 'd'`
  const files = {
    'a.ts': `
      import all, { named } from './node_modules/cjs/index.js'
      import * as space from './node_modules/cjs/index.js'
      import plain, { word } from './node_modules/cjs/plain.js'
      import own from './_own.cjs'
      import { seen } from './node_modules/esm/index.js'
      import bundled from './node_modules/cjs/bundled.js'
      export const isolated = true
      export const GET = async () => Response.json([all, named, Object.keys(space).sort(), space.default === all, plain, word, own, seen, bundled,
        (await import('./node_modules/cjs/index.js')).default])`,
    '_own.cjs': `${once}`,
    'node_modules/cjs/package.json': '{ "name": "cjs", "version": "1.0.0" }',
    'node_modules/cjs/index.js': `module.exports = require('./inner')`,
    'node_modules/cjs/inner.js': `/*\n  import it\n  exports of it\n*/\n${once}`,
    'node_modules/cjs/plain.js': `module.exports = { word: 'w' }`,
    // Only bundlers take it for an ES module, and import as they do.
    'node_modules/cjs/bundled.js': `import d from './inner.js'\nexport default [d]`,
    'node_modules/esm/package.json': '{ "name": "esm", "version": "1.0.0", "type": "module" }',
    'node_modules/esm/index.js': `import c from '../cjs/index.js'\nexport const seen = c`,
  }
  await withGuest(files, async (guest) => {
    const { text, head } = await ask(guest, {})
    assertEquals(head.error, undefined)
    const all = { __esModule: true, named: 1, default: 'd' }
    const keys = ['__esModule', 'default', 'module.exports', 'named']
    assertEquals(JSON.parse(text), [all, 1, keys, true, { word: 'w' }, 'w', all, all, ['d'], all])
  })
})

Deno.test('a guest runs modules that came over the network', async () => {
  const modules: Record<string, string> = {
    '/main.ts': `import { word } from './word.ts'\nexport const hello: string = 'hello ' + word`,
    '/word.ts':
      `export const word: string = 'network'\nexport function fail(): never {\n  throw new Error('far away')\n}`,
  }
  await using server = Deno.serve({ port: 0, onListen: () => {} }, (request) => {
    const text = modules[new URL(request.url).pathname]
    return text === undefined
      ? new Response(null, { status: 404 })
      : new Response(text, { headers: { 'content-type': 'application/typescript' } })
  })
  const origin = `http://localhost:${server.addr.port}`
  // Deno writes what it fetched into the lock file of the working folder; the project's own must not learn of this server.
  const project = Deno.cwd()
  const elsewhere = await Deno.makeTempDir()
  Deno.chdir(elsewhere)
  try {
    const source =
      `import { hello } from '${origin}/main.ts'\nexport const isolated = true\nexport function GET() { return new Response(hello) }`
    await withGuest({ 'a.ts': source }, async (guest) => {
      assertEquals((await ask(guest, {})).text, 'hello network')
      assertEquals(guest.program.bundle.inputs.some((path) => path.includes('localhost')), false)
    })
    await withRoutes({ 'a.ts': `import '${origin}/gone.ts'` }, async (folder) => {
      await assertRejects(() => bundle(join(folder, 'a.ts')), ProgramError, '/gone.ts')
    })
  } finally {
    Deno.chdir(project)
    await Deno.remove(elsewhere, { recursive: true })
  }
  await stopEsbuild()
})
