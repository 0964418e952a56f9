/** Limits and arguments that Rust and TypeScript share have one place, the crate `native/abi`. */
import { assert, assertEquals, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { TABLES, toConstants, writeTables } from '../../native/abi/generate.ts'
import { findFiles, ROOT } from './source_tree.ts'

Deno.test('the tables in TypeScript are those of native/abi', async () => {
  assertEquals(await Deno.readTextFile(TABLES), await writeTables(), 'run native/abi/generate.ts')
})

Deno.test('what stands in native/abi stands nowhere else', async () => {
  const again: string[] = []
  for (const folder of ['src', 'native']) {
    for (const path of await findFiles(folder, ['.ts', '.rs', 'checks', '.sh'])) {
      if (path.startsWith('native/abi/') || TABLES.endsWith(path) || /\btests\b/.test(path)) continue
      const text = await Deno.readTextFile(join(ROOT, path))
      text.split('\n').forEach((line, index) => {
        const code = line.replace(/\/\/.*$|^\s*\*.*$|\/\*\*.*\*\/$/, '')
        if (SHARED.test(code)) again.push(`${path}:${index + 1}: ${line.trim()}`)
      })
    }
  }
  assertEquals(again, [])
})

/** Names of limits with a value of their own, numbers that stand for one limit only, and Deno's arguments. */
const SHARED =
  /\b(?:const|static) (?:WEIGHT|WORKERS|QUEUE|MAPPINGS|DESCRIPTORS|THREADS|CALLS)_(?:MIN|MAX|DEFAULT)\b|\b65_?530\b|--(?:single-threaded|no-maglev-inlining|invocation-count)\b|'--cached-only'|"--cached-only"/

Deno.test('the check of shared constants sees one that is repeated', () => {
  for (
    const line of ['const QUEUE_MAX: u32 = 16_384;', 'mappings: 65_530,', "'--v8-flags=--single-threaded'"]
  ) {
    assert(SHARED.test(line), line)
  }
})

Deno.test('toConstants reads integers and lists of texts, and refuses the rest', () => {
  const read = (source: string) => toConstants('file.rs', source)
  assertEquals(read('/// Most.\npub const A: u64 = 1 << 40;\n'), [
    '/** Most. */\nexport const A = 1_099_511_627_776\n',
  ])
  assertEquals(read('/// One,\n/// two.\npub const B: &[&str] = &[\n    "x",\n    "y",\n];\n'), [
    "/**\n * One,\n * two.\n */\nexport const B = [\n  'x',\n  'y',\n] as const\n",
  ])
  assertThrows(() => read('/// A sum.\npub const C: u32 = A + 1;\n'), SyntaxError, 'file.rs: C')
  assertThrows(() => read('pub const D: u32 = 1;\n'), SyntaxError, 'want all 1')
})
