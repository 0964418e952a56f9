import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import { findCircles, readCrate, type RustModule } from './rust_modules.ts'
import { ROOT } from './source_tree.ts'

const CRATES = [
  'abi',
  'ffi',
  'front',
  'fuzz',
  'guard',
  'guest-core',
  'linux',
  'mayfly-vm',
  'pool',
  'vmm',
  'wire',
]

for (const crate of CRATES) {
  Deno.test(`no module of ${crate} uses itself by a detour`, async () => {
    const modules = await readCrate(`native/${crate}`)
    assert(modules.length > 1, `native/${crate}: ${modules.length} modules found, want more`)
    assertEquals(findCircles(modules), [])
  })
}

Deno.test('findCircles sees a circle, also through a name that the root passes on', () => {
  const modules: RustModule[] = [
    { path: [], text: 'mod a; mod b; mod c; pub use c::Third; pub use self::a::First as Renamed;' },
    { path: ['a'], text: 'use crate::b::{self, Second as Other};' },
    { path: ['b'], text: 'use std::fmt;\nfn b() { super::c::third() }' },
    { path: ['c'], text: 'pub use crate::Renamed;' },
  ]
  assertEquals(findCircles(modules), ['a -> b -> c -> a'])
})

Deno.test('findCircles compares what lies in one folder, each with all below it', () => {
  const modules: RustModule[] = [
    { path: [], text: 'mod vm; mod host;' },
    { path: ['vm'], text: 'mod reset; mod slots; pub use reset::Step;' },
    { path: ['vm', 'reset'], text: 'use super::slots::Slot; use super::Vm; use crate::host::Host;' },
    { path: ['vm', 'slots'], text: 'use super::Step;' },
    { path: ['host'], text: 'use crate::vm::slots::*;' },
  ]
  assertEquals(findCircles(modules), ['host -> vm -> host', 'vm::reset -> vm::slots -> vm::reset'])
})

Deno.test('the library is built without what lets the leak check break a reset', async () => {
  for (const crate of CRATES.filter((name) => !['abi', 'fuzz', 'mayfly-vm', 'wire'].includes(name))) {
    const manifest = await Deno.readTextFile(join(ROOT, `native/${crate}/Cargo.toml`))
    const dependencies = manifest.split('\n[').find((part) => part.startsWith('dependencies]')) ?? ''
    assert(dependencies !== '', `native/${crate}/Cargo.toml: no [dependencies]`)
    assert(
      !dependencies.includes('mutations'),
      `native/${crate}/Cargo.toml: the feature mutations in [dependencies]`,
    )
    assert(!/^default = .*mutations/m.test(manifest), `native/${crate}/Cargo.toml: mutations by default`)
  }
})
