import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import type { SandboxCode } from '@mayfly/mayfly/sandbox'
import { inEachSandbox } from './fixture.ts'

const PROGRAM: SandboxCode = {
  npm: true,
  mainModule: 'src/main.ts',
  modules: {
    'src/main.ts': `import { Hono } from 'hono'
import { html } from 'hono/html'
import { sum, type Sum } from '../lib/sum.ts'
import rates from '../rates.json'
import note from 'note.txt'
const app = new Hono()
app.get('/hello/:name', (c) => c.html(html\`<b>\${c.req.param('name')}</b>\`))
export const total: Sum = (...all) => sum(...all) * rates.eur
export const noted = () => note
export default app`,
    'lib/sum.ts': `export type Sum = (...all: number[]) => number
export const sum: Sum = (...all) => all.reduce((a, b) => a + b, 0)`,
    'rates.json': { json: { eur: 2 } },
    'note.txt': 'a note',
  },
}

inEachSandbox({ promoteAfter: 3 }, ({ test, sandbox }) => {
  test('a trusted program imports packages and its own modules', async () => {
    const worker = sandbox().load(PROGRAM)
    await worker.ready()
    // Before its snapshot and after it.
    for (let n = 0; n < 5; n++) {
      const response = await worker.fetch('http://a.test/hello/ann')
      assertEquals([response.status, await response.text()], [200, '<b>ann</b>'])
      assertEquals([await worker.call('total', 1, 2), await worker.call('noted')], [6, 'a note'])
    }
  })

  test('a program that keeps its state imports packages too', async () => {
    const kept = sandbox().get('kept with packages', PROGRAM, { ephemeral: false })
    assertEquals(await kept.call('total', 3), 6)
  })

  test('packages are for who asked for them, and files of the project for nobody', async () => {
    const refused = async (modules: Record<string, string>, npm: boolean) => {
      const worker = sandbox().load({ npm, mainModule: 'main.js', modules })
      return (await assertRejects(() => worker.ready(), Error)).message
    }
    assertStringIncludes(await refused({ 'main.js': `import 'hono'` }, false), 'bundle')
    for (const path of ['../deno.json', '/etc/passwd', 'file:///etc/passwd', './mod.ts', '../../mod.ts']) {
      assertStringIncludes(
        await refused({ 'main.js': `import data from '${path}'` }, true),
        'it is none of the modules that came with the program: main.js',
      )
    }
    assertStringIncludes(await refused({ 'main.js': `import 'no-such-package-here'` }, true), 'deno add')
    assertStringIncludes(await refused({ 'main.js': 'export default (' }, true), 'main.js:1')
  })

  test('npm is true or false', async () => {
    // deno-lint-ignore no-explicit-any
    const worker = sandbox().load({ ...PROGRAM, npm: 'yes' as any })
    await assertRejects(() => worker.ready(), TypeError, `npm is "yes", want true or false`)
  })
})
