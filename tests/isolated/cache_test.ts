/** Snapshots on disk: a server that starts again goes on from them, and from no others than it would make. */
import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import { join } from '@std/path'
import {
  askProcess,
  CacheFolders,
  type Drawn,
  isBundle,
  openCached,
  visit,
  wasCached,
} from './cache_helper.ts'
import { testIsolated } from './fixture.ts'

const CHECK = 'MAYFLY_CHECK_RESETS'

Deno.test.beforeAll(() => Deno.env.set(CHECK, '1'))
Deno.test.afterAll(() => Deno.env.delete(CHECK))

testIsolated('a server that starts again goes on from its file, request after request', async () => {
  using folders = new CacheFolders()
  const first = await visit(folders)
  assertEquals([first.cached, first.stale], [false, []])
  const site = openCached(folders)
  try {
    const drawn: Drawn[] = []
    for (let i = 0; i < 5; i++) drawn.push(JSON.parse((await site.ask('/')).text))
    assertEquals(wasCached(site), true)
    // Each from the snapshot, compared with it byte for byte afterwards.
    assertEquals(drawn.map(({ count }) => count), [1, 1, 1, 1, 1])
    // What a module drew is in the snapshot.
    assertEquals(new Set([first.drawn, ...drawn].map(({ atBoot }) => atBoot)).size, 1)
    const all = [first.drawn, ...drawn].flatMap(({ drawn }) => drawn)
    assertEquals(new Set(all).size, all.length)
    const now = drawn.at(-1)!.now
    assert(Math.abs(Date.now() - now) < 60_000, `the clock says ${now}`)
  } finally {
    await site.close()
  }
})

testIsolated('a snapshot with a warm-up brings its trials and what it left', async () => {
  using folders = new CacheFolders(`
export const isolated = { warmup: 20 }
let first
export const GET = (ctx) => ctx.send.json({ first: first ??= ctx.get.query('id') ?? 'none' })
`)
  const told = []
  for (let i = 0; i < 2; i++) {
    const site = openCached(folders)
    const residue = Promise.withResolvers<unknown>()
    site.router.on('isolate:residue', ({ metadata }) => residue.resolve(metadata))
    try {
      const { text } = await site.ask('/?id=mine')
      const { handlers } = await residue.promise as { handlers: unknown }
      // A warm-up on a busy host may not settle, and is not kept then.
      const ready = site.events.find(({ kind }) => kind === 'isolate:ready')!
      const { settled } = ready.metadata as { settled: boolean }
      if (settled) await folders.waitFor(2)
      told.push({ text, handlers, settled, cached: wasCached(site) })
    } finally {
      await site.close()
    }
  }
  const [before, after] = told
  assertMatch(String(before!.handlers), /^GET .*index\.ts$/)
  assertEquals(after, { ...before!, cached: before!.settled })
})

testIsolated(
  'another source, other options and another environment have snapshots of their own',
  async () => {
    using folders = new CacheFolders()
    const seen = async (isolate: Record<string, unknown>, files: number) =>
      (await visit(folders, isolate, files)).cached
    assertEquals(await seen({}, 2), false)
    assertEquals(await seen({ timeoutMs: 4000 }, 3), false)
    folders.edit('// A comment is no part of the program.')
    assertEquals(await seen({}, 3), true)
    folders.edit('export const POST = GET')
    assertEquals(await seen({}, 4), false)
    Deno.env.set('MAYFLY_CACHE_TEST', 'a secret')
    try {
      const { cached, drawn } = await visit(folders, {}, 6)
      assertEquals([cached, drawn.secret], [false, 'a secret'])
      assertEquals((await visit(folders, {}, 6)).drawn.secret, 'a secret')
    } finally {
      Deno.env.delete('MAYFLY_CACHE_TEST')
    }
    const { cached, drawn } = await visit(folders, {}, 6)
    assertEquals([cached, drawn.secret], [true, ''])
  },
)

testIsolated('a file that is damaged or foreign is refused with the reason, and made anew', async () => {
  using folders = new CacheFolders()
  await visit(folders)
  const damage: [string, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
    ['cut', (bytes) => bytes.subarray(0, bytes.length - 4096), /cut or damaged/],
    ['empty', () => new Uint8Array(0), /has 0 bytes/],
    ['a flipped bit', (bytes) => bytes.with(bytes.length - 5000, bytes.at(-5000)! ^ 1), /is damaged/],
    ['another version', (bytes) => bytes.with(8, 99), /version/],
    ['no snapshot', (bytes) => bytes.with(0, 0), /no snapshot/],
  ]
  for (const [what, change, reason] of damage) {
    // The program's file, and once its base's.
    for (const which of what === 'a flipped bit' ? [0, 1] : [0]) {
      const path = folders.files()[which]!
      const before = Deno.readFileSync(path)
      Deno.writeFileSync(path, change(before.slice()))
      const { stale, answer, cached } = await visit(folders)
      assertEquals([what, answer.status, cached], [what, 200, false])
      assertMatch(stale[0]!, reason)
      // What lies over a base that is made anew is stale, too.
      assertEquals(stale.length, which + 1)
      await untilChanged(path, change(before.slice()))
      const again = await visit(folders)
      assertEquals([what, again.cached, again.stale], [what, true, []])
    }
  }
})

testIsolated('a file that others may write to is refused', async () => {
  using folders = new CacheFolders()
  const [program] = (await visit(folders), folders.files())
  Deno.chmodSync(program!, 0o622)
  const { stale, cached, answer } = await visit(folders)
  assertMatch(stale[0]!, /another user could change it/)
  assertEquals([cached, answer.status], [false, 200])
})

testIsolated('folder and files are for nobody else, and a folder that is not is not used', async () => {
  using folders = new CacheFolders()
  await visit(folders)
  const mode = (path: string) => Deno.statSync(path).mode! & 0o777
  assertEquals([mode(folders.cache), ...folders.files().map(mode)], [0o700, 0o600, 0o600])
  Deno.chmodSync(folders.cache, 0o777)
  const lines: string[] = []
  const { error } = console
  console.error = (line: string) => void lines.push(line)
  const site = openCached(folders)
  try {
    assertEquals((await site.ask('/')).status, 200)
    assertEquals(wasCached(site), undefined)
  } finally {
    console.error = error
    await site.close()
  }
  assertMatch(lines.join('\n'), /isolate\.cacheDir is not used.*mode 777/)
})

testIsolated(
  'a kept bundle that is not what the files give now is replaced while the server runs',
  async () => {
    const source = (word: string) =>
      `export const isolated = { warmup: 0 }\nexport const GET = (ctx) => ctx.send.text('${word}')\n`
    using folders = new CacheFolders(source('fresh'))
    await visit(folders)
    // As if what its imports lead to had changed, without a file that it was made of.
    const bundles = [...Deno.readDirSync(folders.cache)].map(({ name }) => join(folders.cache, name)).filter(
      isBundle,
    )
    for (const path of bundles) {
      const bundle = JSON.parse(Deno.readTextFileSync(path).slice(65))
      const code = new TextDecoder().decode(Uint8Array.fromBase64(bundle.code))
      if (!code.includes("'fresh'") && !code.includes('"fresh"')) continue
      bundle.code = new TextEncoder().encode(code.replaceAll('fresh', 'stale')).toBase64()
      const rest = JSON.stringify(bundle)
      const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(rest))
      Deno.writeTextFileSync(path, `${new Uint8Array(bytes).toHex()}\n${rest}`)
    }
    const site = openCached(folders)
    try {
      assertEquals((await site.ask('/')).text, 'stale')
      let text = ''
      for (let i = 0; i < 600 && text !== 'fresh'; i++) {
        text = (await site.ask('/')).text
        await new Promise((done) => setTimeout(done, 50))
      }
      assertEquals(text, 'fresh')
    } finally {
      await site.close()
    }
    assertEquals((await visit(folders)).answer.text, 'fresh')
  },
)

testIsolated('the folder keeps to its bound, and what runs goes on without its file', async () => {
  using folders = new CacheFolders()
  await visit(folders)
  folders.edit('export const PUT = GET')
  const site = openCached(folders, { cacheMb: 1 })
  try {
    assertEquals((await site.ask('/')).status, 200)
    for (let i = 0; i < 3000 && folders.files().length > 0; i++) {
      await new Promise((done) => setTimeout(done, 10))
    }
    assertEquals(folders.files(), [])
    assertEquals((await site.ask('/')).status, 200)
  } finally {
    await site.close()
  }
})

testIsolated('two servers with one folder do not disturb each other, and draw other numbers', async () => {
  using folders = new CacheFolders()
  const both = await Promise.all([askProcess(folders), askProcess(folders)])
  const later = await Promise.all([askProcess(folders), askProcess(folders)])
  const all = [...both, ...later].map(({ status, text }) => {
    assertEquals(status, 200)
    return JSON.parse(text) as Drawn
  })
  const drawn = all.flatMap(({ drawn }) => drawn)
  assertEquals(new Set(drawn).size, drawn.length)
  // Of two that began at once one base is the last, and programs over the other are made anew, once.
  const last = await Promise.all([askProcess(folders), askProcess(folders)])
  assertEquals(last.map(({ cached }) => cached), [true, true])
  const [one, other] = last.map(({ text }) => JSON.parse(text) as Drawn)
  assertEquals(one!.atBoot, other!.atBoot)
  for (const [index, value] of one!.drawn.entries()) assertNotEquals(value, other!.drawn[index])
})

testIsolated('a program whose warm-up failed, or whose module throws, is not kept', async () => {
  using folders = new CacheFolders(`
export const isolated = { warmup: 5 }
export function GET(ctx) {
  if (ctx.get.header('x-mayfly-warmup') !== undefined) Deno.exit(3)
  return ctx.send.text('well')
}
`)
  const failed = await visitAndSettle(folders)
  assertEquals([failed.text, failed.cached], ['well', false])
  folders.write(
    `export const isolated = { warmup: 0 }\nthrow new Error('not today')\nexport const GET = () => {}\n`,
  )
  const thrown = await visitAndSettle(folders)
  assertEquals(thrown.status, 500)
  // The base is kept: it has nothing of either.
  assertEquals((await folders.waitFor(1)).length, 1)
})

/** As {@link visit}, of a program that must leave no file: another one that is kept comes behind it in the background. */
async function visitAndSettle(folders: CacheFolders) {
  const site = openCached(folders)
  try {
    const { status, text } = await site.ask('/')
    await new Promise((done) => setTimeout(done, 300))
    return { status, text, cached: wasCached(site) }
  } finally {
    await site.close()
  }
}

async function untilChanged(path: string, from: Uint8Array): Promise<void> {
  for (let i = 0; i < 3000; i++) {
    const now = Deno.readFileSync(path)
    if (now.length !== from.length || now.some((byte, index) => byte !== from[index])) return
    await new Promise((done) => setTimeout(done, 10))
  }
  throw new Error(`${path} is as it was`)
}
