/** Paths that a package requires: a file before a folder, and extensions that are left out. */
import { assertEquals } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { ask, withGuest } from './guest_process.ts'

const FILES = {
  'node_modules/kit/package.json': `{ "name": "kit", "version": "1.0.0" }`,
  'node_modules/kit/lib/index.js': `
    exports.all = [
      require('./named.js'), require('./named'), require('./both'), require('./folder'), require('./folder/'),
      require('..'), require('../top'), require('./data'), require('./data.json'), require('./no.ending'), require('./typed'),
    ]`,
  'node_modules/kit/lib/named.js': `module.exports = 'named'`,
  'node_modules/kit/lib/both.js': `module.exports = 'file beside a folder'`,
  'node_modules/kit/lib/both/index.js': `module.exports = 'folder beside a file'`,
  'node_modules/kit/lib/folder/index.js': `module.exports = 'folder'`,
  'node_modules/kit/index.js': `module.exports = 'above'`,
  'node_modules/kit/top.js': `module.exports = 'top'`,
  'node_modules/kit/lib/data.json': `"data"`,
  'node_modules/kit/lib/no.ending.js': `module.exports = 'no ending'`,
  'node_modules/kit/lib/typed.js': `module.exports = 'JavaScript'`,
  'node_modules/kit/lib/typed.ts': `export = 'TypeScript'`,
}
const ROUTE = `
  import kit from './node_modules/kit/lib/index.js'
  export const isolated = true
  export const GET = () => Response.json(kit.all)`

Deno.test('a path that a package requires is the file that Node takes', async () => {
  await withGuest({ 'a.ts': ROUTE, ...FILES }, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.error, undefined)
    assertEquals(JSON.parse(text), [
      'named',
      'named',
      'file beside a folder',
      'folder',
      'folder',
      'above',
      'top',
      'data',
      'data',
      'no ending',
      'JavaScript',
    ])
  })
  await stopEsbuild()
})
