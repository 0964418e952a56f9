/** Modules that are not there: a package that asks for one in a `try` does without, and everybody else is told what is missing. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from '@std/assert'
import { bundleModule } from '../../src/isolate/bundle/bundle.ts'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, toRoutes, withGuest, withRoutes } from './guest_process.ts'

const PACKAGE = {
  'node_modules/pg/package.json': `{ "name": "pg", "version": "1.0.0" }`,
  'node_modules/pg/index.js': `
    const attempt = (get) => { try { return get() } catch (error) { return [error instanceof Error, error.code, error.message] } }
    exports.all = () => ({
      package: attempt(() => require('pg-native')),
      addOn: attempt(() => require('./build/Release/addon.node')),
      folder: attempt(() => require('../lost/lib')),
      json: attempt(() => require('./lost.json')),
      real: attempt(() => require('./real.node')),
      again: attempt(() => require('pg-native')),
      there: attempt(() => require('./there')),
    })
    exports.later = () => import('kerberos').then(() => 'found', (error) => error.code)`,
  'node_modules/pg/there.js': `module.exports = 'found'`,
  'node_modules/pg/real.node': 'ELF',
}
const ROUTE = `
  import pg from './node_modules/pg/index.js'
  export const isolated = true
  export const GET = async () => Response.json({ ...pg.all(), later: await pg.later() })`

Deno.test('what a package asks for in a try fails where it is asked for', async () => {
  await withGuest({ 'a.ts': ROUTE, ...PACKAGE }, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    const { there, later, ...failed } = JSON.parse(text)
    assertEquals([there, later], ['found', 'ERR_MODULE_NOT_FOUND'])
    const codes = Object.entries(failed as Record<string, [boolean, string]>).map((
      [name, [isError, code]],
    ) => [name, isError && code])
    assertEquals(Object.fromEntries(codes), {
      package: 'MODULE_NOT_FOUND',
      addOn: 'ERR_DLOPEN_FAILED',
      folder: 'MODULE_NOT_FOUND',
      json: 'MODULE_NOT_FOUND',
      real: 'ERR_DLOPEN_FAILED',
      again: 'MODULE_NOT_FOUND',
    })
    assertMatch(failed.package[2], /^Cannot find module 'pg-native': /)
    for (const name of ['addOn', 'real']) assertMatch(failed[name][2], /is a native add-on, .* want /)
  })
  await stopEsbuild()
})

Deno.test('what an import statement asks for and is not there is told when the program is bundled', async () => {
  const cases: Readonly<Record<string, string>> = {
    'statement.ts': `import './lost.ts'`,
    'dynamic.ts': `const later = () => import('./lost.ts')`,
    'package.ts': `import './node_modules/pg/esm.js'`,
  }
  const files = Object.fromEntries(
    Object.entries(cases).map(([name, line]) => [
      name,
      `${line}\nexport const isolated = true\nexport const GET = () => new Response()`,
    ]),
  )
  await withRoutes(
    { ...files, ...PACKAGE, 'node_modules/pg/esm.js': `import 'kerberos'` },
    async (folder) => {
      const { failures } = await planPrograms(toRoutes(folder, files))
      assertEquals(failures.map(({ route }) => route.file), ['dynamic.ts', 'package.ts', 'statement.ts'])
      for (const { error } of failures) assertStringIncludes(error.message, 'import')
    },
  )
  await stopEsbuild()
})

for (const runtime of ['deno', 'core']) {
  Deno.test(`a computed import that begins with a path finds the files that fit: ${runtime}`, async () => {
    const folder = await Deno.makeTempDir()
    try {
      await Deno.mkdir(`${folder}/pages`)
      await Deno.writeTextFile(`${folder}/deno.json`, '{}')
      for (const name of ['a', 'b']) {
        await Deno.writeTextFile(`${folder}/pages/${name}.ts`, `export default 'page ${name}'`)
      }
      await Deno.writeTextFile(`${folder}/pages/c.txt`, 'no module')
      await Deno.writeTextFile(
        `${folder}/main.ts`,
        'export const load = (name) => import(`./pages/${name}.ts`)',
      )
      const { code } = await bundleModule({
        runtime: runtime as 'deno' | 'core',
        root: folder,
        file: `${folder}/main.ts`,
      })
      await Deno.writeFile(`${folder}/bundle.js`, code)
      const { load } = await import(`file://${folder}/bundle.js`)
      assertEquals([(await load('a')).default, (await load('b')).default], ['page a', 'page b'])
      await assertRejects(async () => await load('../main'), Error, 'Module not found in bundle')
    } finally {
      await Deno.remove(folder, { recursive: true })
      await stopEsbuild()
    }
  })
}

Deno.test('a path with two slashes in a row is that of the same module, as a package may lead around a circle by it', async () => {
  const count = 'globalThis.loads = (globalThis.loads ?? 0) + 1'
  const files = {
    'a.ts': `
      import './/_own.ts'
      import './_own.ts'
      import './node_modules/slashes/index.mjs'
      export const isolated = true
      export const GET = () => Response.json([globalThis.loads, globalThis.inPackage])`,
    '_own.ts': count,
    'node_modules/slashes/package.json': '{ "name": "slashes", "version": "1.0.0" }',
    'node_modules/slashes/index.mjs': `import './/count.mjs'\nimport './count.mjs'`,
    'node_modules/slashes/count.mjs': count.replaceAll('loads', 'inPackage'),
  }
  await withGuest(files, async (guest) => {
    assertEquals((await ask(guest, {})).text, '[1,1]')
  })
  await stopEsbuild()
})
