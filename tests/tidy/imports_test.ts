import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import { findImports, readSources, roomOf, ROOT, type SourceFile } from './source_tree.ts'

/** Which rooms a room may import; a test compares the table in ARCHITECTURE.md. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  app: [
    'server',
    'middleware',
    'static',
    'context',
    'router',
    'dve',
    'worker',
    'errors',
    'events',
    'isolate',
    'sandbox',
    'reach',
    'values',
    'tenants',
    'compiler',
    'text',
    'options',
    'addresses',
  ],
  tenants: ['context', 'errors', 'events', 'isolate', 'options', 'router', 'sandbox', 'text'],
  server: ['errors', 'events'],
  middleware: ['addresses', 'context', 'errors', 'events', 'options', 'reach'],
  static: ['context', 'errors', 'options'],
  isolate: ['context', 'errors', 'events', 'compiler', 'options', 'reach'],
  sandbox: ['compiler', 'context', 'errors', 'events', 'isolate', 'options', 'reach', 'values'],
  reach: ['addresses', 'context', 'errors', 'options', 'values'],
  context: ['addresses', 'errors', 'events'],
  worker: ['context', 'errors', 'events', 'options'],
  router: ['compiler', 'text'],
  compiler: [],
  dve: ['options', 'text'],
  options: ['text'],
  text: [],
  addresses: [],
  errors: [],
  events: [],
  values: [],
  std: [],
}

Deno.test('rooms import only what lies below them', async () => {
  const wrong: string[] = []
  for (const { path, imports } of await readSources()) {
    const room = roomOf(path)
    assert(room in ALLOWED, `${path}: no rule for the room ${room}, want one in ALLOWED`)
    for (const target of imports) {
      const other = roomOf(target)
      if (other !== room && !ALLOWED[room].includes(other)) wrong.push(`${path} -> ${target}`)
    }
  }
  assertEquals(wrong, [])
})

Deno.test('the table of rooms in ARCHITECTURE.md names the same imports', async () => {
  const map = await Deno.readTextFile(join(ROOT, 'ARCHITECTURE.md'))
  const rows = [...map.matchAll(/^\| `src\/(\w+)\/` +\|[^|]+\| +([^|]+?) +\|$/gm)]
  const written = Object.fromEntries(
    rows.map(([, room, names], at) => [
      room,
      names === 'nothing'
        ? []
        : names === 'all rooms below'
        ? rows.slice(at + 1).map(([, below]) => below).filter((below) => below !== 'std').sort()
        : names.split(', '),
    ]),
  )
  const wanted = Object.fromEntries(Object.entries(ALLOWED).map(([room, names]) => [room, names.toSorted()]))
  assertEquals(written, wanted)
})

Deno.test('only what boots machines knows the native library, and the types of machines know none of their kinds', async () => {
  const wrong: string[] = []
  for (const { path, imports } of await readSources()) {
    for (const target of imports) {
      const fromFfi = path.startsWith('src/isolate/ffi/')
      const toFfi = target.startsWith('src/isolate/ffi/')
      if (toFfi && !fromFfi && !path.startsWith('src/isolate/boot/')) wrong.push(`${path} -> ${target}`)
      if (path.startsWith('src/isolate/machines/') && /^src\/isolate\/(?:boot|processes)\//.test(target)) {
        wrong.push(`${path} -> ${target}`)
      }
    }
  }
  assertEquals(wrong, [])
})

Deno.test('the rest of src/app sees isolated routes by one door', async () => {
  const wrong: string[] = []
  for (const { path, imports } of await readSources()) {
    if (path.startsWith('src/app/isolated/')) continue
    for (const target of imports.filter((target) => target.startsWith('src/app/isolated/'))) {
      const isStateOfApp = path === 'src/app/app.ts' && target === 'src/app/isolated/state.ts'
      if (target !== 'src/app/isolated/mod.ts' && !isStateOfApp) wrong.push(`${path} -> ${target}`)
    }
  }
  assertEquals(wrong, [])
})

Deno.test('findImports sees every way to import', () => {
  const text = `import type { A } from './a.ts'
import {
  b,
} from './b.ts'
export * from './c.ts'
import './d.ts'
import 'npm:other'
const e = await import('./e.ts')`
  assertEquals(findImports(text).map(({ specifier, isType }) => `${specifier}${isType ? ' type' : ''}`), [
    './a.ts type',
    './b.ts',
    './c.ts',
    './d.ts',
    './e.ts',
  ])
})

Deno.test('no file imports itself by a detour', async () => {
  const sources = new Map((await readSources()).map((source) => [source.path, source]))
  const cycles = findCycles(sources)
  assertEquals(cycles, [])
})

Deno.test('findCycles sees a cycle', () => {
  const files: SourceFile[] = [['a', 'b'], ['b', 'c'], ['c', 'a'], ['d', 'a']].map(([path, target]) => ({
    path,
    text: '',
    imports: [target],
    runtimeImports: [target],
  }))
  assertEquals(findCycles(new Map(files.map((file) => [file.path, file]))), ['a -> b -> c -> a'])
})

function findCycles(sources: ReadonlyMap<string, SourceFile>): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at !== -1) {
      cycles.push([...trail.slice(at), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const target of sources.get(path)?.imports ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of sources.keys()) visit(path, [])
  return cycles
}
