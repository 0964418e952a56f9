/** Programs in C in place of handlers: a real server, real machines. Without a C compiler these tests are skipped aloud. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { basename, fromFileUrl, join } from '@std/path'
import { until } from '../until.ts'
import { compile, compileExample, compileSaying, testNative } from './native_programs.ts'
import { listen } from '../listening.ts'

const GUEST = fromFileUrl(new URL('./native_guest.c', import.meta.url))

interface Site {
  readonly origin: string
  readonly routes: string
  readonly events: LifecycleEvent[]
  /** Errors of routes, behind the names of their files. */
  readonly told: string[]
  ask(path: string, init?: RequestInit): Promise<{ status: number; text: string; headers: Headers }>
}

async function serve(
  files: (routes: string) => Promise<void>,
  run: (site: Site) => Promise<void>,
  hotReload = false,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-native-' })
  try {
    const routes = join(folder, 'routes')
    await Deno.mkdir(routes)
    await files(routes)
    const router = new Router({ routesDir: routes, hotReload, isolate: { vms: 1 } })
    const events: LifecycleEvent[] = []
    router.on('isolate:*', (event) => void events.push(event))
    const told: string[] = []
    router.on('route:error', ({ metadata: { file, error } }) => {
      told.push(`${basename(file)} ${(error as Error).message}`)
    })
    await using server = await listen((options) => router.serve(options))
    await router.ready()
    await run({
      origin: server.origin,
      routes,
      events,
      told,
      async ask(path, init) {
        const response = await fetch(server.origin + path, {
          ...init,
          headers: { accept: 'application/problem+json', ...init?.headers },
        })
        return { status: response.status, text: await response.text(), headers: response.headers }
      },
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** A route file for a program. */
function route(options: string): string {
  return `export const isolated = { ${options} }\n`
}

for (const linkage of ['-static', '-static-pie', '-pie']) {
  testNative(
    `a program (${linkage}) answers in place of handlers and is reset after each request`,
    async () => {
      await serve(async (routes) => {
        await compile(GUEST, join(routes, '_guest'), linkage)
        await Deno.mkdir(join(routes, 'of'))
        await Deno.writeTextFile(
          join(routes, 'of', '[id].ts'),
          route(`program: '../_guest', timeoutMs: 5000`),
        )
      }, async ({ ask }) => {
        const told = await ask('/of/a%20b/c?x=1&q+w=%C3%A4+2', {
          method: 'PUT',
          body: 'the body',
          headers: { 'x-word': 'h\u00e4llo "you"', cookie: 'a=1' },
        })
        assertEquals([told.status, told.text], [
          201,
          'PUT /of/a%20b/c|h\u00e4llo "you"|a=1|a b|4 \u00e4 2|the body',
        ])
        assertEquals(told.headers.get('x-quoted'), 'a "b" \\c')
        const long = 'y'.repeat(100_000)
        const large = await ask('/of/1', { method: 'POST', body: long })
        assertEquals([large.status, large.text.endsWith(long)], [201, true])
        assertEquals((await ask('/of/1/large')).text.length, 3 << 20)
        for (let i = 0; i < 3; i++) {
          assertEquals((await ask('/of/1/kept')).text, 'nothing')
          assertEquals((await ask('/of/1/keep')).text, 'kept')
        }
        const words = new Set<string>()
        for (let i = 0; i < 5; i++) words.add((await ask('/of/1/random')).text)
        assertEquals(words.size, 5)
      })
    },
  )
}

testNative('every bad end of a program has its answer, and the next request meets a clean one', async () => {
  await serve(async (routes) => {
    await compile(GUEST, join(routes, '_guest'), '-static')
    await Deno.writeTextFile(
      join(routes, 'index.ts'),
      route(`program: './_guest', timeoutMs: 1500, memoryMb: 16`),
    )
  }, async ({ ask, events }) => {
    const ends = [
      ['/spin', 504, 'isolation-timeout'],
      ['/silent', 504, 'isolation-timeout'],
      ['/crash', 502, 'isolation-crash'],
      ['/exit', 502, 'isolation-crash'],
      ['/memory', 507, 'isolation-memory'],
      ['/over', 502, 'isolation-output'],
      ['/bad-header', 502, 'isolation-crash'],
      ['/print', 502, 'isolation-crash'],
      ['/forgotten', 500, 'internal-server-error'],
      ['/fail', 500, 'internal-server-error'],
    ] as const
    for (const [path, status, type] of ends) {
      const answer = await ask(path)
      assertEquals([path, answer.status], [path, status], answer.text)
      if (status !== 500) assertStringIncludes(answer.text, type)
      assertEquals((await ask('/kept')).text, 'nothing', path)
    }
    const crash = await ask('/crash')
    assertMatch(crash.text, /died of signal 11/)
    assertEquals(events.filter(({ kind }) => kind === 'isolate:boot').length, 1)
    assert(events.every(({ metadata }) => (metadata as { runtime?: string }).runtime === 'native'))
  })
})

testNative('the examples answer; one that keeps its state counts on', async () => {
  await serve(async (routes) => {
    for (const name of ['hello', 'counter']) {
      await compileExample(name, join(routes, `_${name}`))
    }
    await Deno.writeTextFile(join(routes, 'hello.ts'), route(`program: './_hello'`))
    await Deno.writeTextFile(join(routes, 'count.ts'), route(`program: './_counter'`))
    await Deno.writeTextFile(join(routes, 'kept.ts'), route(`program: './_counter', ephemeral: false`))
  }, async ({ ask }) => {
    assertEquals((await ask('/hello?name=Ann')).text, 'Hello, Ann!\n')
    assertEquals((await ask('/hello/below')).text, 'Hello, world!\n')
    const counts = []
    for (const path of ['/count', '/count', '/kept', '/kept', '/kept']) counts.push((await ask(path)).text)
    assertEquals(counts, ['1\n', '1\n', '1\n', '2\n', '3\n'])
  })
})

testNative(
  'a program that was compiled anew takes the place of the former; one that cannot start leaves it',
  async () => {
    const write = (routes: string, text: string) => compileSaying(text, join(routes, '_said'))
    await serve(async (routes) => {
      await write(routes, 'one')
      await Deno.writeTextFile(join(routes, 'index.ts'), route(`program: './_said'`))
    }, async ({ ask, routes }) => {
      assertEquals((await ask('/')).text, 'one')
      await write(routes, 'two')
      await until('the second program', async () => (await ask('/')).text === 'two')
      const text = route(`program: './_said', timeoutMs: 999`)
      await Deno.writeTextFile(join(routes, '_said'), 'no program any more')
      await Deno.writeTextFile(join(routes, 'index.ts'), text)
      for (let i = 0; i < 5; i++) assertEquals((await ask('/')).text, 'two')
      await write(routes, 'three')
      await until('the third program', async () => (await ask('/')).text === 'three')
    }, true)
  },
)

testNative('a program that cannot be one is refused with the reason, and its neighbours serve', async () => {
  await serve(async (routes) => {
    await compileExample('hello', join(routes, '_hello'))
    await Deno.writeTextFile(join(routes, '_text'), 'no program')
    const early = join(routes, '_early.c')
    await Deno.writeTextFile(
      early,
      '#include <stdio.h>\nint main() { fputs("no table\\n", stderr); return 4; }',
    )
    await compile(early, join(routes, '_early'), '-static')
    const files: Record<string, string> = {
      sound: route(`program: './_hello'`),
      absent: route(`program: './_absent'`),
      text: route(`program: './_text'`),
      early: route(`program: './_early'`),
      outside: route(`program: '../../../bin/true'`),
      bindings: route(`program: './_hello', bindings: ['MAIL']`),
      outbound: route(`program: './_hello', outbound: true`),
      runtime: route(`program: './_hello', runtime: 'core'`),
      both: `${route(`program: './_hello'`)}export function GET() {}\n`,
    }
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(routes, `${name}.ts`), text)
    }
  }, async ({ ask, told }) => {
    assertEquals((await ask('/sound')).text, 'Hello, world!\n')
    for (const name of ['absent', 'text', 'early', 'outside', 'bindings', 'outbound', 'runtime', 'both']) {
      assertEquals((await ask(`/${name}`)).status, 500, name)
    }
    const reasons: Record<string, RegExp> = {
      absent: /'.*_absent' is not there, want an ELF file/,
      text: /'.*_text' is no program of Linux on x86-64/,
      early: /Cannot load .*early\.ts: .*ended: Exit\(4\)[^]*no table/,
      outside: /outside of the project|is not there/,
      bindings: /isolated\.bindings has 'MAIL', want a name of the router's isolate\.bindings: it has none/,
      outbound: /isolated\.outbound is true, want nothing beside isolated\.program/,
      runtime: /isolated\.runtime is "core", want nothing beside isolated\.program/,
      both: /it exports GET beside isolated\.program/,
    }
    for (const [name, reason] of Object.entries(reasons)) {
      const message = told.find((text) => text.startsWith(`${name}.ts `))
      assertMatch(message ?? `nothing of ${name}`, reason)
    }
  })
})
