/** What packages read beside their modules, and what of their code the bundler does not take. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { areThere, findPackageFiles } from '../../src/isolate/bundle/package_files.ts'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, toRoutes, withGuest, withRoutes } from './guest_process.ts'

const FONTS = {
  'node_modules/fonts/package.json': `{ "name": "fonts", "version": "1.0.0", "main": "lib/index.js" }`,
  'node_modules/fonts/lib/index.js': `exports.big = __dirname + '/../data/big.flf'`,
  'node_modules/fonts/lib/other.js': '',
  'node_modules/fonts/lib/types.d.ts': '',
  'node_modules/fonts/data/big.flf': 'big',
  'node_modules/fonts/data/deep/er/x.wasm': 'wasm',
  'node_modules/fonts/test/data.bin': 'of its tests',
  'node_modules/fonts/node_modules/inner/data.bin': 'of another package',
  'node_modules/fonts/README.md': 'words',
  'node_modules/texts/package.json': `{ "name": "texts", "version": "1.0.0" }`,
  'node_modules/texts/index.js':
    `exports.own = () => require('node:fs').readFileSync(__dirname + '/other.js', 'utf8')`,
  'node_modules/texts/other.js': '',
  'node_modules/plain/package.json': `{ "name": "plain", "version": "1.0.0" }`,
  'node_modules/plain/index.js': `exports.one = 1`,
  'node_modules/plain/data.bin': 'of a package that asks for none',
}
const PLAN_ROUTE = `
  import fonts from './node_modules/fonts/lib/index.js'
  import plain from './node_modules/plain/index.js'
  import texts from './node_modules/texts/index.js'
  export const isolated = true
  export const GET = () => new Response(fonts.big + plain.one + texts.own())`

Deno.test('a program has the files of the packages that ask where they lie, without links, and with code for those that read files', async () => {
  await withRoutes({ 'a.ts': PLAN_ROUTE, 'secret.txt': 'secret', ...FONTS }, async (folder) => {
    await Deno.symlink(`${folder}/secret.txt`, `${folder}/node_modules/fonts/data/link.txt`)
    const { programs: [program], failures } = await planPrograms(toRoutes(folder, { 'a.ts': PLAN_ROUTE }))
    assertEquals(failures, [])
    const real = await Deno.realPath(folder)
    const there = {
      'fonts/data/big.flf': 3,
      'fonts/data/deep/er/x.wasm': 4,
      'fonts/package.json': 63,
      // It reads files by itself, so it may read these.
      'texts/index.js': 84,
      'texts/other.js': 0,
      'texts/package.json': 39,
    }
    assertEquals(
      program!.bundle.data,
      Object.entries(there).map(([name, bytes]) => {
        const guest = `/node_modules/${name}`
        return { guest, host: real + guest, bytes }
      }),
    )
    assert(areThere(program!.bundle.data!))
    await Deno.remove(`${folder}/node_modules/fonts/data/big.flf`)
    assert(!areThere(program!.bundle.data!))
  })
  await stopEsbuild()
})

Deno.test('a package with more files than a program may have has none of them', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 2001 }, (_, at) => [`node_modules/many/data/${at}.bin`, '']),
  )
  const files = { ...FONTS, ...many, 'node_modules/many/package.json': '{}' }
  await withRoutes(files, async (folder) => {
    const real = await Deno.realPath(folder)
    const modules = ['many/index.js', 'fonts/lib/index.js'].map((path) =>
      [`${real}/node_modules/${path}`, false] as const
    )
    const found = await findPackageFiles(modules, real)
    assertEquals(found.map(({ guest }) => guest.split('/')[2]), ['fonts', 'fonts', 'fonts'])
  })
})

const UNTAKEN = {
  'node_modules/odd/package.json': `{ "name": "odd", "version": "1.0.0" }`,
  'node_modules/odd/index.js': `
    const attempt = (get) => { try { return get() } catch (error) { return error.message } }
    exports.all = (name) => ({
      flow: attempt(() => require('./flow.js')),
      computed: attempt(() => require('./größe/' + name + '/Bindings')),
      twice: attempt(() => [require('./lost/' + name + '/a'), require('./lost/' + name + '/b')]),
      resolved: attempt(() => require.resolve('./there')),
      lost: attempt(() => require.resolve('./lost')),
    })`,
  'node_modules/odd/flow.js': `var a = (x: any): number => 1`,
  'node_modules/odd/there.js': `exports.there = 1`,
}
const ODD_ROUTE = `
  import odd from './node_modules/odd/index.js'
  export const isolated = true
  export const GET = () => Response.json(odd.all('x'))`

Deno.test('code of a package that the bundler does not take fails where it is reached', async () => {
  await withGuest({ 'a.ts': ODD_ROUTE, ...UNTAKEN }, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    const { flow, computed, twice, resolved, lost } = JSON.parse(text)
    assertMatch(flow, /^Cannot load 'flow\.js': it is no JavaScript: .* \(line 1\)$/)
    assertStringIncludes(computed, "Cannot find module './größe/x/Bindings'")
    assertStringIncludes(twice, "Cannot find module './lost/x/a'")
    assertEquals(resolved, '/node_modules/odd/there.js')
    assertStringIncludes(lost, "Cannot find module './lost'")
  })
  await stopEsbuild()
})

Deno.test("what the bundler does not take of the user's own files is told when the program is bundled", async () => {
  const files = {
    'a.ts': `import './own.js'\nexport const isolated = true\nexport const GET = () => new Response()`,
    'own.js': UNTAKEN['node_modules/odd/flow.js'],
  }
  await withRoutes(files, async (folder) => {
    const { failures } = await planPrograms(toRoutes(folder, { 'a.ts': files['a.ts'] }))
    assertMatch(failures[0]!.error.message, /Expected .*\/own\.js:1:/)
  })
  await stopEsbuild()
})
