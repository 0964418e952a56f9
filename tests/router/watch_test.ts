import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import type { LoadedRoute, RouteTable } from '../../src/router/load/load.ts'
import { RouteLoadError } from '../../src/router/load/load_error.ts'
import type { RouteNotice } from '../../src/router/load/notice.ts'
import { type HotReload, startHotReload, stopHotReload } from '../../src/router/reload/watch.ts'
import { eventually, type TempSite, tempSite } from './temp_site.ts'

/** Hot reload of a site with all that it told. */
interface Watched extends AsyncDisposable {
  readonly hot: HotReload
  readonly notices: RouteNotice[]
  readonly tables: RouteTable[]
  readonly views: string[][]
}

async function watched(site: TempSite): Promise<Watched> {
  const notices: RouteNotice[] = []
  const tables: RouteTable[] = []
  const views: string[][] = []
  const hot = await startHotReload({
    routesDir: site.routesDir,
    viewDirs: [join(site.root, 'views')],
    debounceMs: 20,
    onTable: (table) => tables.push(table),
    onNotice: (notice) => notices.push(notice),
    onViewChange: (paths) => views.push(paths),
  })
  return { hot, notices, tables, views, [Symbol.asyncDispose]: () => stopHotReload(hot) }
}

function routeOf({ hot }: Watched, pattern: string): LoadedRoute | undefined {
  return hot.table.routes.find((route) => route.pattern === pattern)
}

/** What the GET handler of a pattern returns now; undefined without one. */
function get(watch: Watched, pattern: string): unknown {
  return routeOf(watch, pattern)?.handlers.GET?.()
}

function told({ notices }: Watched, kind: string, pattern: string): RouteNotice | undefined {
  return notices.find((notice) => notice.kind === kind && notice.pattern === pattern)
}

Deno.test('startHotReload sees a saved route', async () => {
  await using site = await tempSite({ 'routes/index.ts': `export const GET = () => 'one'` })
  await using watch = await watched(site)
  assertEquals(get(watch, '/'), 'one')
  assert(told(watch, 'route:loaded', '/'))
  await site.write('routes/index.ts', `export const GET = () => 'second'`)
  await eventually('second', () => get(watch, '/') === 'second')
  assert(told(watch, 'route:reloaded', '/'))
})

Deno.test('startHotReload evaluates changed helpers and their importers anew, and nothing else', async () => {
  await using site = await tempSite({
    'lib/state.ts': `export const made = { at: crypto.randomUUID() }`,
    'lib/deep.ts': `export const text = 'one'`,
    'lib/helper.ts': `export * from './deep.ts'`,
    'routes/a.ts':
      `import { text } from '../lib/helper.ts'\nimport { made } from '../lib/state.ts'\nexport const GET = () => text + ' ' + made.at`,
    'routes/b.ts': `import { made } from '../lib/state.ts'\nexport const GET = () => made.at`,
  })
  await using watch = await watched(site)
  const state = get(watch, '/b')
  assertEquals(get(watch, '/a'), `one ${state}`)
  const before = routeOf(watch, '/b')!.handlers
  await site.write('lib/deep.ts', `export const text = 'second'`)
  await eventually('second', () => get(watch, '/a') === `second ${state}`)
  assertEquals(routeOf(watch, '/b')!.handlers, before)
  await site.write('lib/state.ts', `export const made = { at: 'now' }`)
  await eventually('now', () => get(watch, '/a') === 'second now' && get(watch, '/b') === 'now')
})

Deno.test('startHotReload follows imports of JSON, of cycles and of modules that were missing', async () => {
  await using site = await tempSite({
    'data/words.json': `{ "word": "one" }`,
    'lib/x.ts':
      `import './y.ts'\nimport words from '../data/words.json' with { type: 'json' }\nexport { words }`,
    'lib/y.ts': `import './x.ts'`,
    'routes/a.ts': `import { words } from '../lib/x.ts'\nexport const GET = () => words.word`,
    'routes/b.ts': `import { late } from '../lib/late/late.ts'\nexport const GET = () => late`,
  })
  await using watch = await watched(site)
  assertEquals(get(watch, '/a'), 'one')
  assert(routeOf(watch, '/b')!.error)
  await site.write('data/words.json', `{ "word": "second" }`)
  await eventually('second', () => get(watch, '/a') === 'second')
  await site.write('lib/late/late.ts', `export const late = 'here'`)
  await eventually('late', () => get(watch, '/b') === 'here')
  assertEquals(routeOf(watch, '/b')!.error, null)
})

Deno.test('startHotReload keeps the last good version of a broken save and tells where it broke', async () => {
  await using site = await tempSite({
    'lib/helper.ts': `export const text = 'one'`,
    'routes/a.ts': `import { text } from '../lib/helper.ts'\nexport const GET = () => text`,
  })
  await using watch = await watched(site)
  await site.write('lib/helper.ts', `export const text = 'one'\nexport const = 2\n`)
  const notice = await eventually('reload:error', () => told(watch, 'reload:error', '/a'))
  assertInstanceOf(notice.error, RouteLoadError)
  assertEquals(notice.error.file, join(site.root, 'lib/helper.ts'))
  assertEquals(notice.error.line, 2)
  assertEquals(get(watch, '/a'), 'one')
  assertEquals(routeOf(watch, '/a')!.error, null)
  await site.write('lib/helper.ts', `export const text = 'mended'`)
  await eventually('mended', () => get(watch, '/a') === 'mended')
})

Deno.test('startHotReload repairs a route that was broken from the start', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = (` })
  await using watch = await watched(site)
  assert(told(watch, 'route:error', '/a'))
  assert(routeOf(watch, '/a')!.error)
  await site.write('routes/a.ts', `export const GET = () => 'well'`)
  await eventually('well', () => get(watch, '/a') === 'well')
})

Deno.test('startHotReload drops a removed method, a removed file, and a route without handlers', async () => {
  await using site = await tempSite({
    'routes/a.ts': `export const GET = () => 'get'\nexport const POST = () => 'post'`,
    'routes/b.ts': `export const GET = () => 'b'`,
    'routes/c.ts': `export const GET = () => 'c'`,
  })
  await using watch = await watched(site)
  await site.write('routes/a.ts', `export const GET = () => 'only'`)
  await eventually('no POST', () => routeOf(watch, '/a')!.methods.join() === 'GET')
  await site.remove('routes/b.ts')
  await eventually('no /b', () => routeOf(watch, '/b') === undefined && told(watch, 'route:removed', '/b'))
  await site.write('routes/c.ts', `export const helper = () => 'c'`)
  await eventually('no /c', () => routeOf(watch, '/c') === undefined && told(watch, 'route:removed', '/c'))
  assertStringIncludes(told(watch, 'route:skipped', '/c')!.reason!, "export 'helper' means nothing here")
  await site.write('routes/b.ts', `export const GET = () => 'back'`)
  await eventually('/b is back', () => get(watch, '/b') === 'back')
})

Deno.test('startHotReload adds files, new folders and what follows in them', async () => {
  await using site = await tempSite()
  await using watch = await watched(site)
  await site.write('routes/new/deep/[id].ts', `export const GET = () => 'one'`)
  await eventually('/new/deep', () => get(watch, '/new/deep/[id]') === 'one')
  await site.write('routes/new/deep/[id].ts', `export const GET = () => 'second'`)
  await eventually('second', () => get(watch, '/new/deep/[id]') === 'second')
  await site.write('routes/new/other.ts', `export const GET = () => 'other'`)
  await eventually('other', () => get(watch, '/new/other') === 'other')
})

Deno.test('startHotReload follows renames of files and folders, and saves by rename', async () => {
  await using site = await tempSite({
    'routes/old/a.ts': `export const GET = () => 'a'`,
    'routes/b.ts': `export const GET = () => 'b'`,
  })
  await using watch = await watched(site)
  await Deno.rename(join(site.routesDir, 'old'), join(site.routesDir, 'young'))
  await eventually('/young/a', () => get(watch, '/young/a') === 'a' && routeOf(watch, '/old/a') === undefined)
  await Deno.rename(join(site.routesDir, 'b.ts'), join(site.routesDir, 'c.ts'))
  await eventually('/c', () => get(watch, '/c') === 'b' && routeOf(watch, '/b') === undefined)
  await site.write('routes/c.ts~', `export const GET = () => 'saved'`)
  await Deno.rename(join(site.routesDir, 'c.ts~'), join(site.routesDir, 'c.ts'))
  await eventually('saved', () => get(watch, '/c') === 'saved')
  await site.write('routes/young/a.ts', `export const GET = () => 'in the moved folder'`)
  await eventually('moved', () => get(watch, '/young/a') === 'in the moved folder')
})

Deno.test('startHotReload applies changes of _middleware and _error', async () => {
  await using site = await tempSite({ 'routes/in/a.ts': `export const GET = () => 'a'` })
  await using watch = await watched(site)
  assertEquals(routeOf(watch, '/in/a')!.middleware, [])
  await site.write('routes/_middleware.ts', `export default () => 'outer'`)
  await site.write('routes/in/_middleware.ts', `export default [() => 'inner', () => 'second']`)
  await site.write('routes/in/_error.ts', `export default () => 'error'`)
  const chain = () => routeOf(watch, '/in/a')!.middleware.map((fn) => fn()).join()
  await eventually('both', () => chain() === 'outer,inner,second')
  await eventually('error hook', () => routeOf(watch, '/in/a')!.errorHandlers.length === 1)
  await site.write('routes/_middleware.ts', `export default () => 'changed'`)
  await eventually('changed', () => chain() === 'changed,inner,second')
  await site.write('routes/_middleware.ts', `export default 3`)
  const broken = () => watch.notices.find((notice) => notice.kind === 'reload:error')
  assertStringIncludes(
    (await eventually('reload:error', broken)).error!.message,
    'wanted a middleware function',
  )
  assertEquals(chain(), 'changed,inner,second')
  await site.remove('routes/in/_middleware.ts')
  await eventually('outer only', () => chain() === 'changed')
})

Deno.test('startHotReload keeps the table when names clash, and goes on when they are repaired', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = () => 'a'` })
  await using watch = await watched(site)
  const table = watch.hot.table
  await site.write('routes/a/index.ts', `export const GET = () => 'twin'`)
  const notice = await eventually('reload:error', () => told(watch, 'reload:error', ''))
  assertStringIncludes(notice.error!.message, 'a/index.ts')
  assertEquals(watch.hot.table, table)
  await site.remove('routes/a.ts')
  await eventually('twin', () => get(watch, '/a') === 'twin')
})

Deno.test('startHotReload gives an isolated route a new version when what it imports changes', async () => {
  await using site = await tempSite({
    'lib/helper.ts': `export const text = 'one'`,
    'routes/a.ts':
      `import { text } from '../lib/helper.ts'\nexport const isolated = true\nexport const GET = () => text\nthrow 'ran'`,
  })
  await using watch = await watched(site)
  assert(routeOf(watch, '/a')!.isolated)
  assertEquals(routeOf(watch, '/a')!.error, null)
  for (const text of ['second', 'the third']) {
    const { version } = routeOf(watch, '/a')!
    await site.write('lib/helper.ts', `export const text = '${text}'`)
    await eventually('a version', () => routeOf(watch, '/a')!.version > version)
  }
  await site.write('routes/a.ts', `export const isolated = false\nexport const GET = () => 'host'`)
  await eventually('host', () => get(watch, '/a') === 'host' && !routeOf(watch, '/a')!.isolated)
})

Deno.test('startHotReload gives an isolated route a new version when the file of its warm-up changes', async () => {
  await using site = await tempSite({
    'warmups/a.warmup.json': '[]',
    'routes/a.ts':
      `export const isolated = { warmup: '../warmups/a.warmup.json' }\nexport const GET = () => new Response()`,
  })
  await using watch = await watched(site)
  const { version } = routeOf(watch, '/a')!
  await site.write('warmups/a.warmup.json', '[{ "path": "/a" }]')
  await eventually('a version', () => routeOf(watch, '/a')!.version > version)
})

Deno.test('startHotReload tells of views without a reload of the routes', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = () => 'a'` })
  await using watch = await watched(site)
  await site.write('views/part/head.dve', 'one')
  const seen = (name: string) => watch.views.flat().some((path) => path === join(site.root, 'views', name))
  await eventually('views', () => seen('part/head.dve') || seen('part') || seen(''))
  watch.views.length = 0
  await site.write('views/part/head.dve', 'second')
  await eventually('head', () => seen('part/head.dve'))
  assertEquals(watch.hot.table.routes[0].version, 0)
})

Deno.test('startHotReload survives a routes folder that goes and comes back', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = () => 'a'` })
  await using watch = await watched(site)
  await site.remove('routes')
  const gone = await eventually('reload:error', () => told(watch, 'reload:error', ''))
  assertStringIncludes(gone.error!.message, 'does not exist')
  assertEquals(get(watch, '/a'), 'a')
  await site.write('routes/a.ts', `export const GET = () => 'back'`)
  await eventually('back', () => get(watch, '/a') === 'back')
  await site.write('routes/a.ts', `export const GET = () => 'back again'`)
  await eventually('back again', () => get(watch, '/a') === 'back again')
})

Deno.test('startHotReload survives a helper folder that goes and comes back', async () => {
  await using site = await tempSite({
    'lib/in/helper.ts': `export const text = 'one'`,
    'routes/a.ts': `import { text } from '../lib/in/helper.ts'\nexport const GET = () => text`,
  })
  await using watch = await watched(site)
  await site.remove('lib/in')
  await eventually('reload:error', () => told(watch, 'reload:error', '/a'))
  assertEquals(get(watch, '/a'), 'one')
  await site.write('lib/in/helper.ts', `export const text = 'back'`)
  await eventually('back', () => get(watch, '/a') === 'back')
})

Deno.test('startHotReload reloads what was edited while no route imported it', async () => {
  await using site = await tempSite({
    'lib/helper.ts': `export const text = 'one'`,
    'routes/a.ts': `import { text } from '../lib/helper.ts'\nexport const GET = () => text`,
  })
  await using watch = await watched(site)
  await site.write('routes/a.ts', `export const GET = () => 'alone'`)
  await eventually('alone', () => get(watch, '/a') === 'alone')
  await site.write('lib/helper.ts', `export const text = 'second'`)
  await site.write(
    'routes/a.ts',
    `import { text } from '../lib/helper.ts'\nexport const GET = () => text + '!'`,
  )
  await eventually('second', () => get(watch, '/a') === 'second!')
})

Deno.test('startHotReload notices a module that a handler imports later', async () => {
  await using site = await tempSite({
    'late/part.ts': `export const text = 'one'`,
    'routes/a.ts':
      `const name = 'part'\nexport const GET = async () => (await import('../late/' + name + '.ts')).text`,
  })
  await using watch = await watched(site)
  assertEquals(await get(watch, '/a'), 'one')
  await eventually('a watch', () => watch.hot.flat.folders.has(join(site.root, 'late')))
  await site.write('late/part.ts', `export const text = 'second'`)
  await eventually('second', async () => await get(watch, '/a') === 'second')
})

Deno.test('startHotReload starts over on what changed while nobody watched', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = () => 'one'` })
  {
    await using watch = await watched(site)
    assertEquals(get(watch, '/a'), 'one')
  }
  await site.write('routes/a.ts', `export const GET = () => 'second'`)
  await using watch = await watched(site)
  assertEquals(get(watch, '/a'), 'second')
})

Deno.test('stopHotReload closes everything, twice too, and after a failed start', async () => {
  await using site = await tempSite({ 'routes/a.ts': `export const GET = () => 'one'` })
  const watch = await watched(site)
  const { graph } = watch.hot
  await stopHotReload(watch.hot)
  await stopHotReload(watch.hot)
  assertEquals(graph.hook, null)
  assertEquals(graph.onGrow.size, 0)
  await site.remove('routes')
  await assertRejects(() => watched(site), Deno.errors.NotFound, 'wanted a folder')
  assertEquals(graph.hook, null)
})
