import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import { buildTree } from '../../src/router/load/build.ts'
import { classify, RouteNamesError } from '../../src/router/load/classify.ts'
import { crawl } from '../../src/router/load/crawl.ts'
import { type LoadedRoute, loadRoutes } from '../../src/router/load/load.ts'
import { createLoadCache } from '../../src/router/load/load_cache.ts'
import { RouteLoadError } from '../../src/router/load/load_error.ts'
import { match } from '../../src/router/match/match.ts'
import type { RouteNotice } from '../../src/router/load/notice.ts'
import { routeRows } from '../../src/router/load/table.ts'
import { formatRows } from './printed.ts'
import { type TempSite, tempSite } from './temp_site.ts'

async function load(site: TempSite): Promise<{ routes: readonly LoadedRoute[]; notices: RouteNotice[] }> {
  const notices: RouteNotice[] = []
  const { routes } = await loadRoutes({
    routesDir: site.routesDir,
    onNotice: (notice) => notices.push(notice),
  })
  return { routes, notices }
}

const HANDLER = `export const GET = () => 'get'\n`

Deno.test('crawl leaves out what is no route, in the order of names', async () => {
  await using site = await tempSite({
    'routes/b.ts': '',
    'routes/a.tsx': '',
    'routes/B.js': '',
    'routes/a/z.mjs': '',
    'routes/a/c.jsx': '',
    'routes/_middleware.ts': '',
    'routes/a/_error.tsx': '',
    'routes/_middleware_test.ts': '',
    'routes/_private/x.ts': '',
    'routes/@types/x.ts': '',
    'routes/.hidden/x.ts': '',
    'routes/.env.ts': '',
    'routes/a.test.ts': '',
    'routes/a_test.ts': '',
    'routes/b.test.tsx': '',
    'routes/types.d.ts': '',
    'routes/readme.md': '',
    'routes/style.css': '',
    'routes/data.json': '',
    'routes/contest.ts': '',
    'routes/empty/x.txt': '',
  })
  const { files, folders } = await crawl(site.routesDir)
  assertEquals(files.map((file) => file.relative), [
    'B.js',
    'a/c.jsx',
    'a/z.mjs',
    'a.tsx',
    'b.ts',
    'contest.ts',
  ])
  assertEquals([...folders.keys()], ['', 'a', 'empty'])
  assertEquals(folders.get('')!.middleware.map((file) => file.relative), ['_middleware.ts'])
  assertEquals(folders.get('a')!.errors.map((file) => file.relative), ['a/_error.tsx'])
})

Deno.test('crawl follows links to files and folders, but not in a circle', async () => {
  await using site = await tempSite({ 'shared/x.ts': '', 'routes/a/b.ts': '' })
  await Deno.symlink(join(site.root, 'shared'), join(site.routesDir, 'linked'))
  await Deno.symlink(join(site.root, 'shared/x.ts'), join(site.routesDir, 'y.ts'))
  await Deno.symlink(site.routesDir, join(site.routesDir, 'a/circle'))
  await Deno.symlink(join(site.root, 'nowhere'), join(site.routesDir, 'dangling.ts'))
  const { files } = await crawl(site.routesDir)
  assertEquals(files.map((file) => file.relative), ['a/b.ts', 'linked/x.ts', 'y.ts'])
})

Deno.test('crawl names a folder that is missing or is a file', async () => {
  await using site = await tempSite({ 'file.ts': '' })
  const none = join(site.root, 'none')
  await assertRejects(() => crawl(none), Deno.errors.NotFound, `'${none}' does not exist`)
  await assertRejects(() => crawl(join(site.root, 'file.ts')), Deno.errors.NotADirectory, 'is a file')
})

Deno.test('classify tells every malformed and doubled name at once', async () => {
  await using site = await tempSite({
    'routes/users.ts': '',
    'routes/users/index.ts': '',
    'routes/[a].ts': '',
    'routes/[b].ts': '',
    'routes/(x)/about.ts': '',
    'routes/(y)/about.ts': '',
    'routes/docs/[[page]].ts': '',
    'routes/docs/index.ts': '',
    'routes/[bad.ts': '',
    'routes/_middleware.ts': '',
    'routes/_middleware.js': '',
    'routes/fine/[x].ts': '',
  })
  const { problems } = classify(await crawl(site.routesDir))
  const text = problems.map((problem) => problem.replaceAll(site.routesDir, 'routes'))
  assertEquals(text, [
    `'routes/(x)/about.ts' (/about) and 'routes/(y)/about.ts' (/about) answer the same paths, wanted one file for a pattern: remove or rename the others`,
    `'routes/[a].ts' (/[a]) and 'routes/[b].ts' (/[b]) answer the same paths, wanted one file for a pattern: remove or rename the others`,
    `'routes/[bad.ts': parse pattern: '[bad.ts', wanted [name], [[name]], [...name] or one [name] beside literal text, got '[bad'`,
    `'routes/_middleware.js' and 'routes/_middleware.ts' in one folder, wanted one of them: remove the others`,
    `'routes/docs/[[page]].ts' (/docs/[[page]]) and 'routes/docs/index.ts' (/docs) answer the same paths, wanted one file for a pattern: remove or rename the others`,
    `'routes/users/index.ts' (/users) and 'routes/users.ts' (/users) answer the same paths, wanted one file for a pattern: remove or rename the others`,
  ])
  const error = await assertRejects(() => load(site), RouteNamesError, '6 problems')
  assertEquals(error.problems, problems)
})

Deno.test('loadRoutes imports handlers, chains and mounts', async () => {
  await using site = await tempSite({
    'routes/_middleware.ts': `export default () => 'outer'`,
    'routes/_error.ts': `export default () => 'outer error'`,
    'routes/index.ts': HANDLER,
    'routes/in/_middleware.ts': `export default [() => 'first', () => 'second']`,
    'routes/in/_error.ts': `export default () => 'inner error'`,
    'routes/in/[id].ts': `export function PUT() { return 'put' }\nexport const HEAD = () => 'head'`,
    'routes/(group)/_middleware.ts': `export default () => 'group'`,
    'routes/(group)/plain.ts': HANDLER,
    'routes/api.ts':
      `export default { name: 'app', fetch() { return this.name } }\nexport const GET = () => 1`,
  })
  const { routes, notices } = await load(site)
  assertEquals(routes.map((route) => [route.pattern, route.methods, route.mount, route.error]), [
    ['/plain', ['GET'], false, null],
    ['/api', ['GET'], true, null],
    ['/in/[id]', ['HEAD', 'PUT'], false, null],
    ['/', ['GET'], false, null],
  ])
  const [plain, api, inner, index] = routes
  const names = (route: LoadedRoute) => [
    route.middleware.map((fn) => fn()),
    route.errorHandlers.map((fn) => fn()),
  ]
  assertEquals(names(plain), [['outer', 'group'], ['outer error']])
  assertEquals(names(inner), [['outer', 'first', 'second'], ['inner error', 'outer error']])
  assertEquals(names(index), [['outer'], ['outer error']])
  assertEquals(inner.handlers.PUT!(), 'put')
  assertEquals(api.fetch!(), 'app')
  assertEquals(Object.getPrototypeOf(inner.handlers), null)
  assertEquals(notices.map((notice) => notice.kind), Array(4).fill('route:loaded'))
})

Deno.test('loadRoutes mounts an app that is a function with a fetch', async () => {
  const app = `function app() { return 'called' }\nexport default Object.assign(app, { NAME })`
  await using site = await tempSite({
    'routes/yoga.ts': app.replace('NAME', `word: 'fetched', fetch() { return this.word }`),
    'routes/plain.ts': app.replace('NAME', 'word: 1'),
  })
  const { routes, notices } = await load(site)
  assertEquals(routes.map(({ pattern, mount, fetch }) => [pattern, mount, fetch?.()]), [[
    '/yoga',
    true,
    'fetched',
  ]])
  assertEquals(notices.map((notice) => notice.kind), ['route:skipped', 'route:loaded'])
})

Deno.test('loadRoutes reports a broken file with file, line and cause, and loads the others', async () => {
  await using site = await tempSite({
    'routes/syntax.ts': `export const GET = () => 1\nconst x: = 3\n`,
    'routes/throws.ts': `\n\nthrow new Error('boom')\n`,
    'routes/string.ts': `throw 'text'\n`,
    'routes/missing.ts': `import { x } from './nowhere.ts'\nexport const GET = () => x`,
    'lib/broken.ts': `export const text = 'a'\nexport const = 2`,
    'routes/helper.ts': `import { text } from '../lib/broken.ts'\nexport const GET = () => text`,
    'routes/value.ts': `// one\nexport const GET = 5`,
    'routes/well.ts': HANDLER,
  })
  const { routes, notices } = await load(site)
  const errors = new Map(routes.map((route) => [route.pattern, route.error]))
  const at = (pattern: string) => {
    const error = errors.get(pattern)!
    assert(error instanceof RouteLoadError)
    return [error.file.slice(site.root.length), error.line]
  }
  assertEquals(at('/syntax'), ['/routes/syntax.ts', 2])
  assertEquals(at('/throws'), ['/routes/throws.ts', 3])
  assertStringIncludes(errors.get('/throws')!.message, 'Error: boom')
  assertEquals((errors.get('/throws')!.cause as Error).message, 'boom')
  assertStringIncludes(errors.get('/string')!.message, 'it threw text')
  assertStringIncludes(errors.get('/missing')!.message, 'nowhere.ts')
  assertEquals(at('/helper'), ['/lib/broken.ts', 2])
  assertEquals(at('/value'), ['/routes/value.ts', 2])
  assertStringIncludes(
    errors.get('/value')!.message,
    'its export GET is a value of type number, wanted a function',
  )
  assertEquals(errors.get('/well'), null)
  const told = notices.filter((notice) => notice.kind === 'route:error').map((notice) => notice.pattern)
  assertEquals(told, ['/helper', '/missing', '/string', '/syntax', '/throws', '/value'])
  const tree = buildTree({ routes }, (route) => route.error?.name ?? 'well')
  assertEquals(match(tree, '/throws', 'PATCH').value, 'RouteLoadError')
  assertEquals(match(tree, '/well', 'GET').value, 'well')
})

Deno.test('loadRoutes breaks the routes below a broken _middleware, and leaves out a broken _error', async () => {
  await using site = await tempSite({
    'routes/in/_middleware.ts': `export default 5`,
    'routes/in/a.ts': HANDLER,
    'routes/list/_middleware.ts': `export default [() => 1, 'x']`,
    'routes/list/a.ts': HANDLER,
    'routes/_error.ts': `export const handler = 1`,
    'routes/b.ts': HANDLER,
  })
  const { routes, notices } = await load(site)
  const of = (pattern: string) => routes.find((route) => route.pattern === pattern)!
  assertStringIncludes(
    of('/in/a').error!.message,
    'default export is a value of type number, wanted a middleware',
  )
  assertEquals(of('/in/a').methods, [])
  assertStringIncludes(of('/list/a').error!.message, 'an array of 2')
  assertEquals(of('/b').error, null)
  assertEquals(of('/b').errorHandlers, [])
  const told = notices.filter((notice) => notice.kind === 'route:error').map((notice) => notice.file)
  assertEquals(told.map((file) => file.slice(site.routesDir.length)), [
    '/_error.ts',
    '/in/_middleware.ts',
    '/list/_middleware.ts',
  ])
})

Deno.test('loadRoutes says what it leaves out and why', async () => {
  await using site = await tempSite({
    'routes/constant.ts': `const TOP = 1\nexport { TOP as GETT }\nexport const GET = () => 1`,
    'routes/empty.ts': `const helper = 1`,
    'routes/fn.ts': `export default () => 1`,
    'routes/foreign.ts': `export const TRACE = () => 1`,
    'routes/handler.ts': `export const isolted = true\nexport const handler = () => 1`,
    'routes/lower.ts': `export const get = () => 1\nexport const POST = () => 2`,
    'routes/object.ts': `export default { handler: () => 1 }`,
    'routes/vm.ts':
      `export const isolated = true\nexport const post = () => 1\nexport const GET = () => 1\nexport const beforeSnapshot = () => {}`,
  })
  const { routes, notices } = await load(site)
  assertEquals(routes.map((route) => route.pattern), ['/constant', '/lower', '/vm'])
  const reasons = notices.filter((notice) => notice.kind === 'route:skipped')
    .map((notice) => `${notice.pattern}: ${notice.reason}`)
  const wanted = `wanted 'export function GET(ctx)', or an app with fetch(request)`
  assertEquals(reasons, [
    `/constant: export 'GETT' means nothing here, did you mean 'GET'`,
    '/empty: no handler, wanted an exported function named DELETE GET HEAD OPTIONS PATCH POST PUT, or a default export with fetch(request)',
    `/fn: its default export is a function that nobody calls, ${wanted}`,
    `/foreign: export 'TRACE' is not served, wanted one of DELETE GET HEAD OPTIONS PATCH POST PUT`,
    `/handler: export 'handler' means nothing here, wanted DELETE GET HEAD OPTIONS PATCH POST PUT, 'isolated' or an app by default: ` +
    `what other modules import belongs outside of the routes, or into a file or folder whose name begins with '_'`,
    `/handler: export 'isolted' means nothing here, did you mean 'isolated'`,
    `/lower: export 'get' is not a method, wanted 'GET' in capitals`,
    `/object: its default export is a value of type object, ${wanted}`,
    `/vm: export 'post' is not a method, wanted 'POST' in capitals`,
  ])
})

Deno.test('loadRoutes tells of files that no rule takes, once', async () => {
  await using site = await tempSite({
    'routes/a.ts': `export const GET = () => 1`,
    'routes/a.warmup.json': '[]',
    'routes/a_test.ts': '',
    'routes/types.d.ts': '',
    'routes/_notes.txt': '',
    'routes/.hidden': '',
    'routes/page.html': '',
    'routes/style.css': '',
    'routes/in/_midleware.ts': '',
    'routes/in/data.json': '',
    'routes/_lib/readme.md': '',
  })
  const cache = createLoadCache()
  const tell = async () => {
    const told: string[] = []
    await loadRoutes({
      routesDir: site.routesDir,
      cache,
      onNotice: ({ kind, file, reason }) => {
        if (kind === 'route:skipped') told.push(`${file.slice(site.routesDir.length)}: ${reason}`)
      },
    })
    return told.sort()
  }
  assertEquals(await tell(), [
    `/in/_midleware.ts: no rule takes it, and 1 more of its folder, did you mean '_middleware.ts'`,
    `/page.html: no rule takes it, and 1 more of its folder, wanted .ts .tsx .js .jsx or .mjs for a route: other files belong ` +
    `outside of the routes, or begin with '_'`,
  ])
  assertEquals(await tell(), [])
  await site.remove('routes/page.html')
  assertEquals((await tell()).map((line) => line.slice(0, 10)), ['/style.css'])
})

Deno.test('loadRoutes never runs an isolated route, nor imports a file that it skips', async () => {
  const ran = `globalThis.mayflyRan = (globalThis.mayflyRan ?? 0) + 1\n`
  await using site = await tempSite({
    'routes/a.ts':
      `${ran}export const isolated = true\nexport const GET = () => 1\nexport const POST = () => 2`,
    'routes/b.ts': `${ran}export const isolated = { memoryMb: 64 }\nexport default { fetch: () => 1 }`,
    'routes/c.ts': `${ran}export const \\u0069solated = true\nexport const GET = () => 1`,
    'routes/d.ts': `${ran}export const isolated = true\nexport const GET = (`,
    'routes/_private.ts': ran,
    'routes/e_test.ts': ran,
    'routes/f.ts': `export const isolated = false\nexport const GET = () => 'host'`,
  })
  const { routes } = await load(site)
  assertEquals((globalThis as { mayflyRan?: number }).mayflyRan, undefined)
  assertEquals(
    routes.map((
      route,
    ) => [route.pattern, route.isolated, route.methods.join(), route.mount, route.error?.line]),
    [
      ['/a', true, 'GET,POST', false, undefined],
      ['/b', true, '', true, undefined],
      ['/c', true, 'GET', false, undefined],
      ['/d', false, '', false, 3],
      ['/f', false, 'GET', false, undefined],
    ],
  )
  assertEquals(routes[0].handlers, {})
})

Deno.test('loadRoutes refuses a route whose isolated comes by export *', async () => {
  await using site = await tempSite({
    'lib/x.ts': `export const isolated = true`,
    'routes/a.ts': `export * from '../lib/x.ts'\nexport const GET = () => 1`,
  })
  const { routes } = await load(site)
  assertStringIncludes(routes[0].error!.message, `its 'isolated' comes from another module`)
})

Deno.test('loadRoutes imports names that a URL must escape', async () => {
  await using site = await tempSite({
    'routes/100%.ts': HANDLER,
    'routes/a b#c.ts': HANDLER,
    'routes/q?.ts': HANDLER,
    'routes/caf\u00e9.ts': HANDLER,
  })
  const { routes } = await load(site)
  assertEquals(routes.map((route) => [route.pattern, route.error]), [
    ['/100%', null],
    ['/a b#c', null],
    ['/caf\u00e9', null],
    ['/q?', null],
  ])
  const tree = buildTree({ routes }, (route) => route.pattern)
  for (const path of ['/100%25', '/a%20b%23c', '/q%3F', '/caf%C3%A9']) {
    assertEquals(match(tree, path, 'GET').outcome, 200, path)
  }
})

Deno.test('loadRoutes refuses a mount and a catch-all that claim the same paths', async () => {
  await using site = await tempSite({
    'routes/api.ts': `export default { fetch: () => 1 }`,
    'routes/api/[...rest].ts': HANDLER,
    'routes/all/[...rest].ts': `export default { fetch: () => 1 }`,
  })
  const error = await assertRejects(() => load(site), RouteNamesError, 'api.ts')
  assertEquals(error.problems.length, 1)
  assertStringIncludes(error.problems[0], 'api/[...rest].ts')
})

Deno.test('routeRows lists every method, sorted by pattern', async () => {
  await using site = await tempSite({
    'routes/users/[id].ts': HANDLER + `export const DELETE = () => 1`,
    'routes/index.ts': HANDLER,
    'routes/api.ts': `export default { fetch: () => 1 }`,
    'routes/broken.ts': `export const GET = (`,
    'routes/vm.ts': `export const isolated = true\nexport const POST = () => 1`,
  })
  const { routes } = await load(site)
  assertEquals(
    formatRows(routeRows(routes)).replaceAll(site.routesDir, 'routes'),
    `GET     /            routes/index.ts
*       /api         routes/api.ts
*       /broken      routes/broken.ts
DELETE  /users/[id]  routes/users/[id].ts
GET     /users/[id]  routes/users/[id].ts
POST    /vm          routes/vm.ts  isolated
`,
  )
})
