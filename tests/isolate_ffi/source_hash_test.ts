/** The hash of sources is kept, and any change of a source gives another. */
import { assertEquals, assertRejects } from '@std/assert'
import { dirname, join } from '@std/path'
import { hashKept, hashSources } from '../../src/isolate/ffi/build/source_hash.ts'
import { NativeBuildError } from '../../src/isolate/machines/errors.ts'

const ARTIFACT = { what: 'a test', sources: ['Cargo.toml', 'a/src/', 'b?'] }
/** Later than any time at which a file could change without a trace. */
const later = () => Date.now() + 60_000

async function withSources(run: (folder: string, kept: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    for (const name of ['Cargo.toml', 'a/src/lib.rs', 'a/src/deep/mod.rs']) await write(folder, name, name)
    await Deno.mkdir(join(folder, 'kept'))
    await run(folder, join(folder, 'kept'))
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

async function write(folder: string, name: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(join(folder, name)), { recursive: true })
  await Deno.writeTextFile(join(folder, name), text)
}

Deno.test('hashKept gives what hashSources does, from what it kept where nothing changed', () =>
  withSources(async (folder, kept) => {
    const real = await hashSources(ARTIFACT, folder)
    assertEquals(await hashKept(ARTIFACT, folder, kept, later()), real)
    const [file] = [...Deno.readDirSync(kept)].map(({ name }) => join(kept, name))
    const [state] = Deno.readTextFileSync(file!).split('\n')
    Deno.writeTextFileSync(file!, `${state}\n${'f'.repeat(64)}`)
    assertEquals(await hashKept(ARTIFACT, folder, kept, later()), 'f'.repeat(64))
    for (const damaged of ['', 'x', `${state}\n`, `${state}\n${'f'.repeat(63)}`]) {
      Deno.writeTextFileSync(file!, damaged)
      assertEquals(await hashKept(ARTIFACT, folder, kept, later()), real)
    }
  }))

Deno.test('hashKept sees a change of each kind', () =>
  withSources(async (folder, kept) => {
    const changes: (() => unknown)[] = [
      () => write(folder, 'a/src/lib.rs', 'A/src/lib.rs'),
      () => write(folder, 'a/src/new.rs', ''),
      () => write(folder, 'b', ''),
      () => Deno.rename(join(folder, 'a/src/new.rs'), join(folder, 'a/src/newer.rs')),
      () => Deno.remove(join(folder, 'a/src/deep'), { recursive: true }),
      async () => {
        // As long as before, with the time of before.
        const { atime, mtime } = await Deno.stat(join(folder, 'Cargo.toml'))
        await write(folder, 'Cargo.toml', 'cargo.TOML')
        await Deno.utime(join(folder, 'Cargo.toml'), atime!, mtime!)
      },
    ]
    for (const change of changes) {
      const before = await hashKept(ARTIFACT, folder, kept, later())
      // Deno tells the time of a change in seconds.
      await new Promise((done) => setTimeout(done, 1100))
      await change()
      const after = await hashKept(ARTIFACT, folder, kept, later())
      assertEquals([after === before, after], [false, await hashSources(ARTIFACT, folder)], change.toString())
    }
  }))

Deno.test('hashKept keeps nothing of files that changed just now, nor where it cannot write', () =>
  withSources(async (folder, kept) => {
    await hashKept(ARTIFACT, folder, kept)
    assertEquals([...Deno.readDirSync(kept)], [])
    const real = await hashSources(ARTIFACT, folder)
    assertEquals(await hashKept(ARTIFACT, folder, join(folder, 'missing'), later()), real)
    await Deno.remove(join(folder, 'Cargo.toml'))
    await assertRejects(() => hashKept(ARTIFACT, folder, kept, later()), NativeBuildError, 'Cargo.toml')
  }))
