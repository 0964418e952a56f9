/**
 * The lock of `native/fuzz/libfuzzer`, a workspace of its own, follows the one of `native/`: the gate builds it with `--locked`, and
 * only there would a crate that is missing show.
 */
import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import { ROOT } from './source_tree.ts'

Deno.test('the lock of the fuzz targets knows our crates as native/Cargo.lock does (else: cargo metadata there)', async () => {
  const main = readLock(await Deno.readTextFile(join(ROOT, 'native/Cargo.lock')))
  const fuzz = readLock(await Deno.readTextFile(join(ROOT, 'native/fuzz/libfuzzer/Cargo.lock')))
  const ours = [...fuzz.keys()].filter((name) => main.has(name) && !main.get(name)!.external)
  assert(ours.includes('mayfly-fuzz'))
  for (const name of ours) {
    assertEquals(fuzz.get(name), main.get(name), name)
    for (const direct of fuzz.get(name)!.dependencies) {
      assertEquals(fuzz.get(direct), main.get(direct), direct)
    }
  }
})

Deno.test('readLock tells what a crate needs, and whether it is ours', () => {
  const lock = readLock(
    '[[package]]\nname = "a"\nversion = "1.0.0"\ndependencies = [\n "b",\n "c 2.0.0",\n]\n\n' +
      '[[package]]\nname = "b"\nversion = "0.1.0"\nsource = "registry"\n',
  )
  assertEquals(lock.get('a'), { version: '1.0.0', external: false, dependencies: ['b', 'c 2.0.0'] })
  assertEquals(lock.get('b'), { version: '0.1.0', external: true, dependencies: [] })
})

interface Locked {
  readonly version: string
  /** Whether it comes from a registry. */
  readonly external: boolean
  readonly dependencies: string[]
}

/** The packages of a Cargo.lock by name; of two versions the later. */
function readLock(text: string): Map<string, Locked> {
  const packages = new Map<string, Locked>()
  for (const block of text.split('[[package]]').slice(1)) {
    const value = (name: string) => new RegExp(`^${name} = "(.+)"$`, 'm').exec(block)?.[1]
    const list = /^dependencies = \[([^\]]*)\]$/m.exec(block)?.[1] ?? ''
    packages.set(value('name')!, {
      version: value('version')!,
      external: value('source') !== undefined,
      dependencies: [...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name!),
    })
  }
  return packages
}
