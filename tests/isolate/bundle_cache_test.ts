/** Bundles on disk: they come back as they were, and only while nothing that they were made of has changed. */
import { assertEquals, assertRejects } from '@std/assert'
import { join } from '@std/path'
import type { Bundle } from '../../src/isolate/bundle/bundle.ts'
import { BundleCache } from '../../src/isolate/bundle/bundle_cache.ts'

/** A folder with a module, and a cache that counts what is made of it. */
class Project implements Disposable {
  readonly root = Deno.makeTempDirSync()
  readonly cache = Deno.makeTempDirSync()
  readonly file = join(this.root, 'routes', 'index.ts')
  made = 0

  constructor() {
    Deno.mkdirSync(join(this.root, 'routes'))
    Deno.writeTextFileSync(this.file, 'one')
  }

  /** What a restarted server takes, and whether it was kept. */
  async take(input: unknown = 'a', fresh = false): Promise<[text: string, kept: boolean]> {
    const cache = new BundleCache(this.cache)
    const { bundle, kept } = await cache.take(input, join(this.root, 'routes'), () => this.#make(), fresh)
    assertEquals(bundle.inputs, [this.file])
    assertEquals([bundle.map, bundle.missing], ['{}', []])
    return [new TextDecoder().decode(bundle.code), kept]
  }

  files(): string[] {
    return [...Deno.readDirSync(this.cache)].map(({ name }) => join(this.cache, name))
  }

  #make(): Promise<Bundle> {
    this.made++
    return Promise.resolve({
      code: Deno.readFileSync(this.file),
      map: '{}',
      inputs: [this.file],
      missing: [],
    })
  }

  [Symbol.dispose](): void {
    for (const folder of [this.root, this.cache]) Deno.removeSync(folder, { recursive: true })
  }
}

Deno.test('a bundle comes back until a file of it, or the configuration above it, is another', async () => {
  using project = new Project()
  assertEquals(await project.take(), ['one', false])
  assertEquals(await project.take(), ['one', true])
  assertEquals(await project.take('b'), ['one', false])
  Deno.writeTextFileSync(project.file, 'two')
  assertEquals(await project.take(), ['two', false])
  assertEquals(await project.take(), ['two', true])
  for (const config of ['deno.json', 'routes/package.json', 'deno.lock']) {
    Deno.writeTextFileSync(join(project.root, config), '{}')
    assertEquals([config, ...await project.take()], [config, 'two', false])
    assertEquals([config, ...await project.take()], [config, 'two', true])
    Deno.removeSync(join(project.root, config))
    assertEquals([config, ...await project.take()], [config, 'two', false])
  }
  assertEquals(await project.take('a', true), ['two', false])
  // For its owner alone, and nothing beside them.
  assertEquals(project.files().map((file) => Deno.statSync(file).mode! & 0o777), [0o600, 0o600])
})

Deno.test('a file that is damaged, or cannot be written, is no more than made anew', async () => {
  using project = new Project()
  await project.take()
  const [file] = project.files()
  const bytes = Deno.readFileSync(file!)
  const damage = [
    bytes.subarray(0, 10),
    bytes.subarray(0, bytes.length - 1),
    new Uint8Array(0),
    bytes.with(70, 0),
  ]
  for (const [index, damaged] of damage.entries()) {
    Deno.writeFileSync(file!, damaged)
    assertEquals([index, ...await project.take()], [index, 'one', false])
    assertEquals([index, ...await project.take()], [index, 'one', true])
  }
  Deno.removeSync(project.cache, { recursive: true })
  const { error } = console
  const lines: string[] = []
  console.error = (line: string) => void lines.push(line)
  try {
    assertEquals(await project.take(), ['one', false])
  } finally {
    console.error = error
    Deno.mkdirSync(project.cache)
  }
  assertEquals(lines.length, 1)
})

Deno.test('what cannot be bundled is not kept', async () => {
  using project = new Project()
  const cache = new BundleCache(project.cache)
  await assertRejects(() => cache.take('a', project.root, () => Promise.reject(new Error('no'))), Error, 'no')
  assertEquals(project.files(), [])
})
