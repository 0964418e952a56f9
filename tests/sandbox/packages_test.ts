import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from '@std/assert'
import { type SandboxCode, ThrownError } from '@mayfly/mayfly/sandbox'
import { inEachSandbox, rejection } from './fixture.ts'

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

  test('stacks name the modules that a bundle was made of, and nothing of the host', async () => {
    const modules = {
      'src/main.ts': `import { Hono } from 'hono'
import { fail } from '../lib/fail.ts'

interface Item {
  readonly name: string
}

const app = new Hono()
app.onError((error) => { throw error })
app.get('/', () => fail('a request'))
export const check = (item: Item): unknown => fail(item.name)
export default app`,
      'lib/fail.ts': `type Text = string

export function fail(name: Text): never {
  throw new RangeError(name)
}`,
    }
    const worker = sandbox().load({ npm: true, mainModule: 'src/main.ts', modules })
    const kept = sandbox().get('kept and failing', { npm: true, mainModule: 'src/main.ts', modules }, {
      ephemeral: false,
    })
    const calls = [
      ['call', () => worker.call('check', { name: 'a call' })],
      ['fetch', () => worker.fetch('http://a.test/')],
      ['kept call', () => kept.call('check', { name: 'a call' })],
      ['kept fetch', () => kept.fetch('http://a.test/')],
    ] as const
    // Before its snapshot and after it.
    for (let n = 0; n < 4; n++) {
      for (const [name, call] of calls) {
        const { stack } = await rejection(call(), ThrownError)
        const lines = stack!.split('\n')
        assertMatch(lines[1]!, /^ +at fail \(lib\/fail\.ts:4:\d+\)$/, `${name}: ${stack}`)
        assertMatch(lines[2]!, /src\/main\.ts:1[01]:\d+/, `${name}: ${stack}`)
        if (name.endsWith('fetch')) assertStringIncludes(stack!, '/node_modules/hono/dist/')
        assert(!stack!.includes('main.js') && !stack!.includes(Deno.cwd()), stack)
      }
    }
  })

  test('who bundled a program itself hands in its source map', async () => {
    const map = {
      version: 3,
      sources: ['../src/a.ts'],
      names: [],
      mappings: ';AAKA', // the second line is line 6 of a.ts
    }
    const code = {
      mainModule: 'main.js',
      modules: { 'main.js': 'export const f = () => {\nthrow new Error("x") }' },
      sourceMaps: { 'main.js': JSON.stringify(map) },
    }
    const { stack } = await rejection(sandbox().load(code).call('f'), ThrownError)
    assertStringIncludes(stack!, 'src/a.ts:6:1')
    const refused: [Record<string, unknown>, string][] = [
      [{ 'other.js': '{}' }, '"other.js", want a name of its modules'],
      [{ 'main.js': 'no map' }, '"main.js", which is no source map'],
      [{ 'main.js': 'null' }, '"main.js", which is no source map'],
      [{ 'main.js': 7 }, '"main.js", which is no source map'],
    ]
    for (const [sourceMaps, words] of refused) {
      // deno-lint-ignore no-explicit-any
      const worker = sandbox().load({ ...code, sourceMaps: sourceMaps as any })
      await assertRejects(() => worker.ready(), TypeError, words)
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
