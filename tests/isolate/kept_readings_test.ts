/** Readings on disk: a restarted server takes what an earlier one read of the same source, and of no other. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { join } from '@std/path'
import { KeptReadings } from '../../src/isolate/bundle/kept_readings.ts'

/** A folder, and a count of what is read. */
class Starts implements Disposable {
  readonly folder = join(Deno.makeTempDirSync(), 'cache')
  reads = 0

  /** What a server that starts reads, and how often it had to; it keeps what it used. */
  async read(source: string, value: unknown, kind = 'exports', path = '/a.ts', root = '/routes') {
    const readings = await KeptReadings.open(this.folder, root)
    assert(readings !== null)
    const before = this.reads
    const got = await readings.of(kind, path, source, () => {
      this.reads++
      return Promise.resolve(value)
    })
    await readings.save()
    return [got, this.reads - before]
  }

  [Symbol.dispose](): void {
    Deno.removeSync(join(this.folder, '..'), { recursive: true })
  }
}

Deno.test('a reading comes back for the same source, language, kind and folder only', async () => {
  using starts = new Starts()
  assertEquals(await starts.read('a', ['GET']), [['GET'], 1])
  assertEquals(await starts.read('a', ['PUT']), [['GET'], 0])
  assertEquals(await starts.read('b', ['PUT']), [['PUT'], 1])
  assertEquals(await starts.read('b', 1, 'isolated'), [1, 1])
  assertEquals(await starts.read('b', 2, 'isolated', '/b.ts'), [1, 0])
  assertEquals(await starts.read('b', 2, 'isolated', '/a.js'), [2, 1])
  assertEquals(await starts.read('b', 3, 'isolated', '/a.js', '/others'), [3, 1])
})

Deno.test('what a start did not use is not kept for the next', async () => {
  using starts = new Starts()
  assertEquals(await starts.read('a', 1), [1, 1])
  assertEquals(await starts.read('b', 2), [2, 1])
  assertEquals(await starts.read('a', 3), [3, 1])
})

Deno.test('objects come back without a prototype, and what JSON does not hold is read each time', async () => {
  using starts = new Starts()
  const value = Object.assign(Object.create(null), { constructor: [{ deep: true }], text: null })
  value.__proto__ = 'own'
  await starts.read('a', value)
  const [kept, reads] = await starts.read('a', undefined)
  assertEquals([kept, reads], [value, 0])
  assertEquals(Object.getPrototypeOf(kept), null)
  for (const odd of [undefined, { a: undefined }, [NaN], Infinity, -0]) {
    assertEquals(await starts.read('b', odd), [odd, 1])
    assertEquals(await starts.read('b', odd), [odd, 1])
  }
})

Deno.test('what cannot be read is an error of this start, and of the next', async () => {
  using starts = new Starts()
  for (let start = 0; start < 2; start++) {
    const readings = await KeptReadings.open(starts.folder, '/routes')
    await assertRejects(() =>
      readings!.of('exports', '/a.ts', 'a', () => Promise.reject(new SyntaxError('no')))
    )
    await readings!.save()
  }
})

Deno.test('a damaged file is no use, and is replaced', async () => {
  using starts = new Starts()
  await starts.read('a', 1)
  const [file] = [...Deno.readDirSync(starts.folder)].map(({ name }) => join(starts.folder, name))
  const text = Deno.readTextFileSync(file!)
  for (const broken of ['', 'x', text.slice(0, -1), text.replace(':"1"', ':"2"')]) {
    Deno.writeTextFileSync(file!, broken)
    assertEquals([broken, ...await starts.read('a', 1)], [broken, 1, 1])
    assertEquals(Deno.readTextFileSync(file!), text)
  }
})

Deno.test('a folder that others may write to is not used: what is read says whether the host may import a route', async () => {
  using starts = new Starts()
  await starts.read('a', 1)
  assertEquals(Deno.statSync(starts.folder).mode! & 0o777, 0o700)
  for (const mode of [0o720, 0o702, 0o777]) {
    Deno.chmodSync(starts.folder, mode)
    assertEquals([mode, await KeptReadings.open(starts.folder, '/routes')], [mode, null])
  }
})

Deno.test({
  name: 'where Deno does not say who the user is, nothing is kept',
  permissions: { read: true, write: true },
  fn: async () => {
    using starts = new Starts()
    assertEquals(await KeptReadings.open(starts.folder, '/routes'), null)
  },
})
