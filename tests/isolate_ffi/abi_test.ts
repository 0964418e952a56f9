/** The table on this side is the one on the Rust side. */
import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { CRATES } from '../../src/isolate/ffi/build/build.ts'
import { ClosedError } from '../../src/isolate/machines/errors.ts'
import { COMPLETION, COMPLETION_BYTES, describeAbi, hashAbi } from '../../src/isolate/ffi/layout.ts'
import { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import { SYMBOLS } from '../../src/isolate/ffi/symbols.ts'
import { compile, NO_CARGO, NO_MACHINE, openLibrary, ROOT, testWith } from './fixture.ts'

testWith(NO_CARGO, 'SYMBOLS and its comments are what the library exports', async () => {
  using library = await openLibrary()
  const native = library.readText((text, capacity) => library.symbols.mayfly_abi(text, capacity))
  assertEquals(native, (await commentedTable()) + describeAbi().replace(/^fn .*\n/gm, ''))
  assertEquals(native.replaceAll(/\*(?:const|mut) \w+/g, 'buffer'), describeAbi())
  assertEquals(library.symbols.mayfly_abi_hash(), hashAbi(describeAbi()))
})

/** The table with the native types of its comments, in the form of the library's description. */
async function commentedTable(): Promise<string> {
  const source = await Deno.readTextFile(join(ROOT, 'src/isolate/ffi/symbols.ts'))
  const lines: string[] = []
  for (const [, name, body] of source.matchAll(/^ {2}(\w+): \{\n {4}parameters: \[(.*?)\],\n/gms)) {
    const natives = [...body.matchAll(/^ +'(\w+)', \/\/ (.+?)(?:: .*)$/gm)]
    assertEquals(
      natives.map(([, deno]) => deno),
      [...SYMBOLS[name as keyof typeof SYMBOLS].parameters],
      `${name}: a comment for each parameter`,
    )
    for (const [, deno, native] of natives) {
      assertEquals(deno, native.startsWith('*') ? 'buffer' : native, `${name}: ${native}`)
    }
    lines.push(`fn ${name}(${natives.map(([, , native]) => native).join(', ')}) -> i32\n`)
  }
  return lines.join('')
}

Deno.test('hashAbi is FNV-1a without its top bit', () => {
  assertEquals(hashAbi(''), 0x811c9dc5 & 0x7fffffff)
  assertEquals(hashAbi('foobar'), 0xbf9cf968 & 0x7fffffff)
})

Deno.test('COMPLETION covers its bytes without gap or overlap', () => {
  let at = 0
  for (const [name, [offset, type]] of Object.entries(COMPLETION)) {
    assertEquals(offset, at, name)
    at += type === 'f64' ? 8 : 4
  }
  assertEquals(at, COMPLETION_BYTES)
})

Deno.test('CRATES are the library with all that it is made of', async () => {
  const found = new Set<string>()
  const open: string[] = ['ffi']
  for (let crate = open.pop(); crate !== undefined; crate = open.pop()) {
    if (found.has(crate)) continue
    found.add(crate)
    const manifest = await Deno.readTextFile(join(ROOT, 'native', crate, 'Cargo.toml'))
    for (const [, path] of manifest.matchAll(/path = "\.\.\/(\w[\w-]*)"/g)) open.push(path)
  }
  assertEquals([...found].sort(), [...CRATES].sort())
})

testWith(NO_CARGO, 'NativeLibrary is closed more than once and then refuses calls', async () => {
  const library = await openLibrary()
  assert(/^\d+\.\d+\.\d+/.test(library.version), library.version)
  library.close()
  library.close()
  await assertRejects(() => library.doctor(), ClosedError, 'native library')
})

testWith(
  NO_MACHINE,
  'NativeLibrary.open refuses a library of another ABI and what is no library',
  async () => {
    const folder = await Deno.makeTempDir()
    try {
      const source = join(folder, 'other.c')
      const stubs = Object.keys(SYMBOLS).map((name) => `int ${name}(void) { return 5; }`)
      await Deno.writeTextFile(source, stubs.join('\n'))
      const path = join(folder, 'other.so')
      await compile(['-shared', '-fPIC', '-o', path, source])
      assertThrows(() => NativeLibrary.open(path), TypeError, 'its ABI is 5')
      assertThrows(() => NativeLibrary.open(source), Error, 'other.c')
    } finally {
      await Deno.remove(folder, { recursive: true })
    }
  },
)
