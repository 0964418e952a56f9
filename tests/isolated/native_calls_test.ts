/** Native programs that call the host: functions and kv of the router and of a sandbox. Without a C compiler skipped aloud. */
import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { Router } from '@mayfly/mayfly'
import { caller, kv } from '@mayfly/mayfly/reach'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { fromFileUrl, join } from '@std/path'
import { buildGo, buildRustExample, compile, compileExample, testNative } from './native_programs.ts'

const GUEST = fromFileUrl(new URL('./native_calls_guest.c', import.meta.url))

const HOST = {
  inspect: (...args: unknown[]) => Deno.inspect(args, { compact: true, breakLength: 1000 }),
  bytes: () => new TextEncoder().encode('b\u00e4'),
  echo: (bytes: Uint8Array) => bytes,
  nothing: () => undefined,
  who: () => caller()?.program,
  map: () => ({ at: new Date(0), list: [1, null] }),
  big: () => 1n,
  stream: () => new Blob(['x']).stream(),
  long: () => 'x'.repeat(2 << 20),
  fails() {
    throw Object.assign(new RangeError('no "such" thing'), { code: 'ERR_NONE' })
  },
  odd() {
    throw 5
  },
}

async function withRoutes(
  files: (routes: string) => Promise<void>,
  bindings: Record<string, unknown>,
  run: (
    ask: (path: string, init?: RequestInit) => Promise<{ status: number; text: string }>,
  ) => Promise<void>,
): Promise<void> {
  const routesDir = await Deno.makeTempDir({ prefix: 'mayfly-native-' })
  try {
    await files(routesDir)
    const router = new Router({
      routesDir,
      hotReload: false,
      isolate: { vms: 1, timeoutMs: 20_000, bindings },
    })
    try {
      await run(async (path, init) => {
        const response = await router.fetch(new Request(`http://localhost${path}`, init))
        return { status: response.status, text: await response.text() }
      })
    } finally {
      await router.close()
    }
  } finally {
    await Deno.remove(routesDir, { recursive: true })
  }
}

testNative(
  'a native program calls what its file names, with arguments and values in JSON and bytes',
  async () => {
    const twice = (n: number) => new Promise((done) => setTimeout(() => done(2 * n), n % 3))
    await withRoutes(async (routes) => {
      await compile(GUEST, join(routes, '_calls'), '-static')
      const text = (bindings: string) =>
        `export const isolated = { program: './_calls', bindings: [${bindings}], warmup: 20 }\n`
      await Deno.writeTextFile(join(routes, 'calls.ts'), text(`'HOST', 'twice'`))
      await Deno.writeTextFile(join(routes, 'unknown.ts'), text(`'NOBODY'`))
      await Deno.writeTextFile(join(routes, 'silent.ts'), text(''))
    }, {
      HOST,
      twice,
      OTHER: () => 'never',
    }, async (ask) => {
      const text = async (what: string, init?: RequestInit) => (await ask(`/calls/${what}`, init)).text
      const given = HOST.inspect('a "b" \\ \n\u00e4', -5, 0.5, { x: [null] }, new Uint8Array([0, 255]))
      assertEquals(await text('letters'), `json ${JSON.stringify(given)}`)
      assertEquals(await text('none'), 'json "[]"')
      assertEquals(await text('empty'), 'json "[ Uint8Array(0) [] ]"')
      assertEquals(await text('plain'), 'json 42')
      assertEquals(await text('bytes'), 'bytes b\u00e4')
      assertEquals(await text('HOST.nothing'), 'json null')
      assertEquals(await text('HOST.map'), 'json {"at":"1970-01-01T00:00:00.000Z","list":[1,null]}')
      assertStringIncludes(await text('HOST.who'), 'calls.ts')
      assertEquals(await text('HOST.fails'), 'failed no "such" thing')
      assertEquals(await text('HOST.odd'), 'failed The host failed')
      assertStringIncludes(await text('HOST.big'), 'failed The host gave a value without a JSON form')
      assertStringIncludes(await text('HOST.stream'), 'failed The host gave a stream')
      assertStringIncludes(await text('HOST.long'), 'bytes, want at most 1048576')
      for (const name of ['OTHER', 'HOST', 'HOST.constructor', 'twice.x', 'HOST.inspect.x']) {
        assertStringIncludes(await text(name), 'there is no such function')
      }
      assertEquals(await text('many'), '9900')
      assertEquals(await text('large', { method: 'POST', body: 'kept' }), 'kept')
      assertEquals(await text('over'), 'failed the arguments are over 1 MiB')
      assertEquals((await text('forged')).split('\n'), [
        '0 Cannot call the host: the name is none',
        ...Array(3).fill('0 Cannot call the host: the length of the arguments is none'),
        '0 Cannot call the host: the arguments are no JSON',
        '0 Cannot call the host: the arguments are no list',
        '0 Cannot call the host: the length of the arguments is none',
        '',
      ])
      // Side by side, parked on one worker: each has its own answer.
      const many = await Promise.all(Array.from({ length: 20 }, () => text('many')))
      assertEquals(new Set(many), new Set(['9900']))
      assertEquals((await ask('/unknown/x')).status, 500)
      // Without bindings nobody hears a call: it ends the request, and the next one meets a clean machine.
      for (let i = 0; i < 2; i++) assertEquals((await ask('/silent/plain')).status, 502)
    })
  },
)

type Ask = Parameters<Parameters<typeof withRoutes>[2]>[0]

/** The example of notes at `/notes`, as `make` writes it to a path, with a store of its own. */
async function withNotes(
  make: (to: string) => Promise<void>,
  run: (ask: Ask) => Promise<void>,
): Promise<void> {
  await using db = await openKv()
  await withRoutes(
    async (routes) => {
      await make(join(routes, '_notes'))
      await Deno.writeTextFile(
        join(routes, 'notes.ts'),
        `export const isolated = { program: './_notes', bindings: ['DB'], warmup: 20 }\n`,
      )
    },
    { DB: db.kv },
    run,
  )
}

/** Asks for a note that is not there yet, and when it is. */
async function keepNote(ask: Ask, path: string): Promise<void> {
  assertEquals(await ask(path), { status: 404, text: 'nothing is kept here\n' })
  const body = new Uint8Array(300_000).fill(97)
  assertEquals((await ask(path, { method: 'PUT', body })).status, 204)
  assertEquals(await ask(path), { status: 200, text: 'a'.repeat(300_000) })
}

testNative('the example of notes keeps texts and counts by kv', async () => {
  await withNotes((to) => compileExample('notes', to), async (ask) => {
    await keepNote(ask, '/notes/a')
    for (const count of ['1', '2', '3']) {
      assertEquals(await ask('/notes/visits', { method: 'POST' }), { status: 200, text: count })
    }
    // Of a tenant, or another program, nothing is left in the machine: it is all in the host.
    assertEquals((await ask('/notes/b')).status, 404)
  })
})

testNative('the example of notes in Rust keeps texts by kv', async () => {
  await withNotes((to) => buildRustExample('notes', to), async (ask) => {
    await keepNote(ask, '/notes/a%22b%20%C3%A4')
    assertEquals((await ask('/notes/b')).status, 404)
  })
})

testNative('the example in Go says hello, counts by kv, and is reset', async () => {
  await using db = await openKv()
  let built = false
  await withRoutes(
    async (routes) => {
      built = await buildGo(join(routes, '_hello'))
      const text =
        `export const isolated = { program: './_hello', bindings: ['DB'], warmup: 100, limits: { threads: 64 } }\n`
      if (built) await Deno.writeTextFile(join(routes, 'hello.ts'), text)
    },
    { DB: db.kv },
    async (ask) => {
      if (!built) return
      for (let i = 0; i < 3; i++) assertEquals((await ask('/hello?name=Ann%20B')).text, 'Hello, Ann B!\n')
      for (const time of [1, 2, 3]) {
        const { text } = await ask('/hello/count?name=Ann')
        assertEquals(text, `Hello, Ann, for the ${time}. time!\n`)
      }
    },
  )
})

async function openKv() {
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-kv-' })
  const store = kv('notes/', { path: join(folder, 'kv.sqlite') })
  return { kv: store, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) }
}

testNative('a native program of a sandbox calls the functions in its env, and has the texts', async () => {
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-native-' })
  try {
    await using sandbox = await Sandbox.open({ vms: 1 })
    const path = join(folder, 'calls')
    await compile(GUEST, path, '-static')
    const data = await Deno.readFile(path)
    const program = sandbox.get('calls', () => ({
      mainModule: 'calls',
      modules: { calls: { data } },
      native: path,
      env: { HOST, twice: (n: number) => 2 * n, WORD: 'text' },
    }))
    const ask = async (what: string) => await (await program.fetch(`http://x/${what}`)).text()
    for (let i = 0; i < 3; i++) assertEquals(await ask('plain'), 'json 42')
    assertEquals(await ask('HOST.who'), 'json "calls"')
    assertMatch(await ask('WORD'), /no such function/)
    assertEquals(await ask('many'), '9900')
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})
