import { kv, SqliteStore } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { join, toFileUrl } from '@std/path'
import { testStore } from './kv_stores.ts'

const ROOT = toFileUrl(new URL('../../', import.meta.url).pathname)
testStore('sqlite', false, () => {
  const store = new SqliteStore(':memory:')
  return Promise.resolve({
    store,
    [Symbol.asyncDispose]() {
      store.close()
      return Promise.resolve()
    },
  })
})

Deno.test('kv of one file counts right in several processes', async () => {
  const folder = await Deno.makeTempDir()
  try {
    const path = join(folder, 'kv.sqlite')
    const code = `import { kv } from ${JSON.stringify(new URL('src/reach/mod.ts', ROOT).href)}
const db = kv('p', { path: Deno.args[0] })
for (let i = 0; i < 200; i++) await db.increment('n')`
    const script = join(folder, 'count.ts')
    await Deno.writeTextFile(script, code)
    const run = () =>
      new Deno.Command(Deno.execPath(), {
        args: ['run', '-A', '--no-check', '--config', new URL('deno.json', ROOT).pathname, script, path],
        stderr: 'inherit',
      }).output()
    const runs = await Promise.all([run(), run(), run()])
    assert(runs.every(({ success }) => success))
    using store = new SqliteStore(path)
    assertEquals(await kv('p', { store }).get('n'), 600)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('kv refuses options and files that are none', async () => {
  assertThrows(() => kv(''), TypeError, 'the key is')
  assertThrows(() => kv('a', { maxKeys: 0 }), RangeError, 'maxKeys')
  assertThrows(() => kv('a', { pfad: 'x' } as never), TypeError, 'pfad')
  const path = await Deno.makeTempFile()
  await Deno.writeTextFile(path, 'no database'.repeat(200))
  await assertRejects(() => kv('a', { path }).get('x'), Error, 'not a database')
  await Deno.remove(path)
})
