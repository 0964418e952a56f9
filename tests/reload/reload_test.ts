/** Hot reload through a running server: what is saved is seen by a next request, without a restart. */
import { assertEquals, assertStringIncludes } from '@std/assert'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { listen } from '../listening.ts'

/** Milliseconds after which a change that is not seen fails the test. */
const DEADLINE_MS = 60_000

/** A server over a folder of its own, with views. */
interface LiveSite {
  readonly events: LifecycleEvent[]
  /** Writes a file below the folder, its folders made as needed. */
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** `STATUS BODY` of one request. */
  ask(path: string, method?: string): Promise<string>
  /** Asks until the answer is `wanted`. */
  until(path: string, wanted: string, method?: string): Promise<void>
  /** Waits for an event of this kind whose file ends with `file`. */
  told(kind: LifecycleEvent['kind'], file: string): Promise<LifecycleEvent>
}

function testReload(
  name: string,
  files: Record<string, string>,
  run: (site: LiveSite) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const dir = await Deno.makeTempDir()
      try {
        const site = makeSite(dir)
        await Deno.mkdir(`${dir}/routes`)
        await Deno.mkdir(`${dir}/views`)
        for (const [file, text] of Object.entries(files)) await site.write(file, text)
        const router = new Router({
          routesDir: `${dir}/routes`,
          viewsDir: `${dir}/views`,
          hotReload: true,
          drainMs: 100,
        })
        router.on((event) => void site.events.push(event))
        await using server = await listen((options) => router.serve(options))
        site.origin = server.origin
        await run(site)
      } finally {
        await Deno.remove(dir, { recursive: true })
      }
    },
  })
}

function makeSite(dir: string): LiveSite & { origin: string } {
  return {
    origin: '',
    events: [],
    async write(name, text) {
      const path = `${dir}/${name}`
      await Deno.mkdir(path.slice(0, path.lastIndexOf('/')), { recursive: true })
      await Deno.writeTextFile(path, text)
    },
    remove: (name) => Deno.remove(`${dir}/${name}`, { recursive: true }),
    rename: (from, to) => Deno.rename(`${dir}/${from}`, `${dir}/${to}`),
    async ask(path, method = 'GET') {
      const response = await fetch(`${this.origin}${path}`, { method })
      return `${response.status} ${await response.text()}`
    },
    async until(path, wanted, method) {
      let answer = ''
      for (const start = Date.now(); Date.now() - start < DEADLINE_MS;) {
        answer = await this.ask(path, method)
        if (answer === wanted || (wanted.endsWith('...') && answer.startsWith(wanted.slice(0, -3)))) return
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      assertEquals(answer, wanted, `${method ?? 'GET'} ${path} after ${DEADLINE_MS} ms`)
    },
    async told(kind, file) {
      for (const start = Date.now(); Date.now() - start < DEADLINE_MS;) {
        const found = this.events.find((event) => event.kind === kind && nameOf(event).endsWith(file))
        if (found !== undefined) return found
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      throw new Error(
        `Cannot see ${kind} of ${file}: told were ${
          this.events.map((event) => `${event.kind} ${nameOf(event)}`)
        }`,
      )
    },
  }
}

function nameOf({ metadata }: LifecycleEvent): string {
  if ('file' in metadata) return String(metadata.file)
  return 'name' in metadata ? String(metadata.name) : ''
}

/** A route whose GET answers with `text`. */
function route(text: string, more = ''): string {
  return `export const GET = (ctx) => ctx.send.text(${JSON.stringify(text)})\n${more}`
}

testReload(
  'a saved route answers anew, and route:reloaded is told',
  { 'routes/a.js': route('one') },
  async (site) => {
    assertEquals(await site.ask('/a'), '200 one')
    await site.write('routes/a.js', route('two'))
    await site.until('/a', '200 two')
    await site.told('route:reloaded', 'a.js')
    await site.write('routes/a.js', route('three'))
    await site.until('/a', '200 three')
  },
)

testReload('a helper that a route imports, at any depth', {
  'lib/deep.js': `export const word = 'one'\n`,
  'lib/helper.js': `export { word } from './deep.js'\n`,
  'routes/a.js': `import { word } from '../lib/helper.js'\nexport const GET = (ctx) => ctx.send.text(word)\n`,
  'routes/b.js':
    `import { word } from '../lib/deep.js'\nexport const GET = (ctx) => ctx.send.text('b ' + word)\n`,
  'routes/c.js':
    `globalThis.cLoads = (globalThis.cLoads ?? 0) + 1\nexport const GET = (ctx) => ctx.send.text(String(globalThis.cLoads))\n`,
}, async (site) => {
  assertEquals(await site.ask('/a'), '200 one')
  const loads = await site.ask('/c')
  await site.write('lib/deep.js', `export const word = 'two'\n`)
  await site.until('/a', '200 two')
  await site.until('/b', '200 b two')
  assertEquals(await site.ask('/c'), loads, 'a route that does not import it is left alone')
})

testReload(
  'a broken save keeps the last good version, then is well again',
  { 'routes/a.js': route('good') },
  async (site) => {
    await site.write('routes/a.js', 'export const GET = (ctx => {\n')
    const broken = await site.told('reload:error', 'a.js')
    assertStringIncludes(String((broken as LifecycleEvent<'reload:error'>).metadata.error), 'a.js')
    assertEquals(await site.ask('/a'), '200 good')
    await site.write('routes/a.js', `throw new Error('at the top level')\n`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    assertEquals(await site.ask('/a'), '200 good')
    await site.write('routes/a.js', route('mended'))
    await site.until('/a', '200 mended')
  },
)

testReload('a broken save of a helper keeps the last good version, then is well again', {
  'lib/helper.js': `export const word = 'good'\n`,
  'routes/a.js': `import { word } from '../lib/helper.js'\nexport const GET = (ctx) => ctx.send.text(word)\n`,
}, async (site) => {
  assertEquals(await site.ask('/a'), '200 good')
  await site.write('lib/helper.js', `export const word = \n`)
  await site.told('reload:error', 'a.js')
  assertEquals(await site.ask('/a'), '200 good')
  await site.write('lib/helper.js', `export const word = 'mended'\n`)
  await site.until('/a', '200 mended')
})

testReload('a route that is broken at start serves once it is repaired', {
  'routes/a.js': 'export const GET = \n',
  'routes/b.js': route('b'),
}, async (site) => {
  assertEquals((await site.ask('/a')).slice(0, 3), '500')
  assertEquals(await site.ask('/b'), '200 b')
  await site.write('routes/a.js', route('mended'))
  await site.until('/a', '200 mended')
})

testReload('a method that is removed is 405, one that is added serves', {
  'routes/a.js': route('get', `export const POST = (ctx) => ctx.send.text('post')\n`),
}, async (site) => {
  assertEquals(await site.ask('/a', 'POST'), '200 post')
  await site.write('routes/a.js', route('get again'))
  await site.until('/a', '200 get again')
  assertEquals((await site.ask('/a', 'POST')).slice(0, 3), '405')
  await site.write('routes/a.js', route('get', `export const PUT = (ctx) => ctx.send.text('put')\n`))
  await site.until('/a', '200 put', 'PUT')
})

testReload('a file that is removed takes all its methods with it', {
  'routes/a.js': route('a', `export const POST = (ctx) => ctx.send.text('post')\n`),
  'routes/[id].js': route('any'),
}, async (site) => {
  assertEquals(await site.ask('/a'), '200 a')
  await site.remove('routes/a.js')
  await site.until('/a', '200 any')
  assertEquals((await site.ask('/a', 'POST')).slice(0, 3), '405')
  await site.told('route:removed', 'a.js')
})

testReload(
  'a new file, a new folder, and files in the new folder',
  { 'routes/a.js': route('a') },
  async (site) => {
    assertEquals((await site.ask('/b')).slice(0, 3), '404')
    await site.write('routes/b.js', route('b'))
    await site.until('/b', '200 b')
    await site.write('routes/new/deep/c.js', route('c'))
    await site.until('/new/deep/c', '200 c')
    await site.write('routes/new/deep/c.js', route('c again'))
    await site.until('/new/deep/c', '200 c again')
    await site.rename('routes/new', 'routes/moved')
    await site.until('/moved/deep/c', '200 c again')
    await site.until('/new/deep/c', '404...')
    await site.remove('routes/moved')
    await site.until('/moved/deep/c', '404...')
    assertEquals(await site.ask('/a'), '200 a')
  },
)

testReload('_middleware and _error: changed, added and removed', {
  'routes/_middleware.js': `export default async (ctx, next) => { await next(); ctx.set.header('x', '1') }\n`,
  'routes/in/a.js': `export const GET = (ctx) => ctx.send.text(String(ctx.state.word))\n`,
  'routes/in/fail.js': `export const GET = (ctx) => ctx.fail(418)\n`,
}, async (site) => {
  assertEquals(await site.ask('/in/a'), '200 undefined')
  await site.write(
    'routes/_middleware.js',
    `export default (ctx, next) => { ctx.state.word = 'one'; return next() }\n`,
  )
  await site.until('/in/a', '200 one')
  await site.write(
    'routes/in/_middleware.js',
    `export default (ctx, next) => { ctx.state.word += ' two'; return next() }\n`,
  )
  await site.until('/in/a', '200 one two')
  await site.write(
    'routes/in/_error.js',
    `export default (ctx, { status }) => ctx.send.text('caught ' + status)\n`,
  )
  await site.until('/in/fail', '418 caught 418')
  await site.remove('routes/in/_middleware.js')
  await site.until('/in/a', '200 one')
  await site.remove('routes/_middleware.js')
  await site.until('/in/a', '200 undefined')
})

testReload('a broken _middleware keeps the last good one: what it guards stays guarded', {
  'routes/_middleware.js': `export default (ctx) => ctx.send.text('guarded', { status: 401 })\n`,
  'routes/a.js': route('a'),
}, async (site) => {
  assertEquals(await site.ask('/a'), '401 guarded')
  await site.write('routes/_middleware.js', `export default (ctx => \n`)
  await site.told('reload:error', '_middleware.js')
  assertEquals(await site.ask('/a'), '401 guarded')
  await site.write('routes/a.js', route('a again'))
  await new Promise((resolve) => setTimeout(resolve, 400))
  assertEquals(await site.ask('/a'), '401 guarded')
})

testReload('two files that come to answer the same paths: told, and the old table serves', {
  'routes/users.js': route('one'),
}, async (site) => {
  await site.write('routes/users/index.js', route('two'))
  await site.told('reload:error', '')
  assertEquals(await site.ask('/users'), '200 one')
  await site.remove('routes/users.js')
  await site.until('/users', '200 two')
})

const PAGE = `export const GET = (ctx) => ctx.render('page', { word: 'w' })\n`

testReload('a view and its partials', {
  'routes/a.js': PAGE,
  'views/page.dve': `one {{ word }} {{> parts/foot}}`,
  'views/parts/foot.dve': `foot`,
}, async (site) => {
  assertEquals(await site.ask('/a'), '200 one w foot')
  await site.write('views/page.dve', `two {{ word }} {{> parts/foot}}`)
  await site.until('/a', '200 two w foot')
  await site.write('views/parts/foot.dve', `toe`)
  await site.until('/a', '200 two w toe')
  await site.told('view:refreshed', 'page')
  await site.write('views/parts/new/leg.dve', `leg`)
  await site.write('views/page.dve', `three {{> parts/new/leg}}`)
  await site.until('/a', '200 three leg')
  await site.write('views/parts/new/leg.dve', `arm`)
  await site.until('/a', '200 three arm')
})

testReload('a broken view keeps the last good version, then is well again', {
  'routes/a.js': PAGE,
  'views/page.dve': `good {{ word }}`,
}, async (site) => {
  assertEquals(await site.ask('/a'), '200 good w')
  await site.write('views/page.dve', `{{#if word}} never closed`)
  await site.told('view:error', 'page')
  assertEquals(await site.ask('/a'), '200 good w')
  await site.write('views/page.dve', `mended {{ word }}`)
  await site.until('/a', '200 mended w')
})

testReload('twenty saves in a row end with the last one', { 'routes/a.js': route('0') }, async (site) => {
  for (let n = 1; n <= 20; n++) {
    await site.write('routes/a.js', route(String(n)))
    await new Promise((resolve) => setTimeout(resolve, n % 3 === 0 ? 60 : 5))
  }
  await site.until('/a', '200 20')
  await new Promise((resolve) => setTimeout(resolve, 400))
  assertEquals(await site.ask('/a'), '200 20')
})

testReload('requests during a reload are all answered', { 'routes/a.js': route('old') }, async (site) => {
  let asked = 0
  let over = false
  const asking = (async () => {
    while (!over) {
      const answer = await site.ask('/a')
      if (answer !== '200 old' && answer !== '200 new') throw new Error(`Cannot accept the answer ${answer}`)
      asked++
    }
  })()
  await site.write('routes/a.js', route('new'))
  await site.until('/a', '200 new')
  over = true
  await asking
  assertEquals(asked > 0, true)
})
