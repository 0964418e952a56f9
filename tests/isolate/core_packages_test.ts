/** Programs of the runtime `core`: which files of packages they take, and what stands for Node's modules in them. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { dirname, join, toFileUrl } from '@std/path'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { type Bundle, bundleProgram } from '../../src/isolate/bundle/bundle.ts'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import { describeMissing } from '../../src/isolate/core/missing_in_core.ts'

type Files = Readonly<Record<string, string>>

/** Bundles `a.ts` of the files, which are written into a folder of their own. */
async function withBundle(
  files: Files,
  run: (bundle: Bundle, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(folder, name)), { recursive: true })
      await Deno.writeTextFile(join(folder, name), text)
    }
    const bundle = await bundleProgram({
      root: folder,
      files: [join(folder, 'a.ts')],
      handlers: [{ name: 'a', file: 0, export: 'GET' }],
      outputBytes: 100,
      logBytes: 100,
      runtime: 'core',
    })
    await run(bundle, folder)
  } finally {
    await Deno.remove(folder, { recursive: true })
    await stopEsbuild()
  }
}

/** What the export `value` of `a.ts` is once its bundle has run, here in Deno. */
async function valueOf(files: Files): Promise<unknown> {
  let value: unknown
  await withBundle(files, async ({ code }, folder) => {
    // The entry gives up this process's permission to read.
    const text = new TextDecoder().decode(code).replace(/^globalThis\.Deno\?\.permissions.*$/m, '')
    await Deno.writeTextFile(join(folder, 'program.js'), text)
    const key = `entry of ${folder}`
    await Deno.writeTextFile(
      join(folder, 'runtime.js'),
      `export const serve = (entry) => { globalThis[${JSON.stringify(key)}] = entry }
export const describeModule = () => ({}), rememberModules = () => {}, createResolve = () => () => ''`,
    )
    await import(toFileUrl(join(folder, 'program.js')).href)
    const { modules } = (globalThis as unknown as Record<string, Entry>)[key]
    value = (await modules[0]()).value
  })
  return value
}

interface Entry {
  readonly modules: readonly (() => Promise<Record<string, unknown>>)[]
}

const named = (name: string) => `module.exports = '${name}'`

Deno.test('a package is taken by the conditions and fields of workers and browsers', async () => {
  const cases: [json: unknown, wanted: { imported: string; required: string }][] = [
    [{ main: 'main.js' }, { imported: 'main', required: 'main' }],
    [{ main: 'main' }, { imported: 'main', required: 'main' }],
    [{ main: 'lib' }, { imported: 'lib', required: 'lib' }],
    [{}, { imported: 'index', required: 'index' }],
    [{ main: 'main.js', browser: 'browser.js' }, { imported: 'browser', required: 'browser' }],
    [{ main: 'main.js', browser: { './main.js': './browser.js' } }, {
      imported: 'browser',
      required: 'browser',
    }],
    [{ exports: { worker: './worker.js', browser: './browser.js', default: './main.js' } }, {
      imported: 'worker',
      required: 'worker',
    }],
    [{ exports: { '.': { node: './main.js', browser: './browser.js', default: './index.js' } } }, {
      imported: 'browser',
      required: 'browser',
    }],
    [{ exports: { '.': { import: './import.mjs', require: './main.js' } } }, {
      imported: 'import',
      required: 'main',
    }],
    [{ exports: { deno: './main.js', default: { import: './import.mjs', default: './lib/index.js' } } }, {
      imported: 'import',
      required: 'lib',
    }],
  ]
  for (const [json, { imported, required }] of cases) {
    const value = await valueOf({
      'a.ts': `import x from './node_modules/user/index.mjs'\nexport const value = x`,
      'node_modules/user/index.mjs':
        `import imported from 'it'\nimport required from './required.cjs'\nexport default { imported, required }`,
      'node_modules/user/required.cjs': `module.exports = require('it')`,
      'node_modules/it/package.json': JSON.stringify({ name: 'it', ...json as object }),
      ...Object.fromEntries(
        ['main', 'browser', 'worker', 'index'].map((name) => [`node_modules/it/${name}.js`, named(name)]),
      ),
      'node_modules/it/lib/index.js': named('lib'),
      'node_modules/it/import.mjs': `export default 'import'`,
    })
    assertEquals(value, { imported, required }, JSON.stringify(json))
  }
})

Deno.test('a package of the cache is taken by its browser conditions too', async () => {
  await withBundle(
    { 'a.ts': `import { marked } from 'marked'\nexport const value = marked('*a*')` },
    ({ inputs }) => {
      assert(inputs.some((path) => path.includes('/marked/')), inputs.join())
      return Promise.resolve()
    },
  )
  assertEquals(
    await valueOf({
      'a.ts': `import { Hono } from 'npm:hono@4.13.19/tiny'\nimport ip from 'ipaddr.js'
export const value = [typeof Hono, ip.isValid('1.2.3.4')]`,
    }),
    ['function', true],
  )
})

Deno.test("a package's browser map replaces packages and files, and leaves out others", async () => {
  assertEquals(
    await valueOf({
      'a.ts': `import x from './node_modules/it/index.js'\nexport const value = x`,
      'node_modules/it/package.json': JSON.stringify({
        name: 'it',
        browser: {
          'other': './other.js',
          './node.js': './web.js',
          fs: false,
          './gone.js': false,
          net: './net.js',
        },
        imports: { '#inner': { node: './node.js', browser: './inner.js' } },
      }),
      'node_modules/it/index.js': `module.exports = [require('other'), require('./node'), require('fs'),
        require('./gone'), require('net'), require('#inner')]`,
      'node_modules/it/other.js': named('own other'),
      'node_modules/it/node.js': named('node'),
      'node_modules/it/web.js': named('web'),
      'node_modules/it/net.js': named('own net'),
      'node_modules/it/inner.js': named('inner'),
      'node_modules/it/gone.js': `require('child_process')`,
      'node_modules/other/index.js': named('other'),
    }),
    ['own other', 'web', {}, {}, 'own net', 'inner'],
  )
})

/** By module: expressions of `m`, its namespace, that are the same in Node. */
const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  assert: [
    `m.default(1)`,
    `attempt(() => m.equal(1, 2))`,
    `attempt(() => m.deepStrictEqual({ a: 1 }, { a: 2 })).slice(0, 2)`,
    `attempt(() => m.throws(() => { throw new TypeError('x') }, TypeError))`,
    `attempt(() => m.ok(0))[1]`,
  ],
  'assert/strict': [`attempt(() => m.default.equal(1, '1'))[1]`],
  buffer: [
    `m.Buffer.from('héllo').toString('hex')`,
    `m.Buffer.from('aGk_', 'base64url').toString('latin1')`,
    `m.Buffer.from('hi?').toString('base64url')`,
    `m.Buffer.concat([m.Buffer.from('a'), m.Buffer.alloc(2)]).toJSON()`,
    `m.Buffer.from([1, 2, 3]).readUInt16BE(1)`,
    `m.Buffer.byteLength('€')`,
    `m.Buffer.from('abc').subarray(1).toString()`,
    `m.default.Buffer === m.Buffer`,
  ],
  events: [
    `(() => { const e = new m.EventEmitter(), seen = []; e.on('a', (x) => seen.push(x)); e.once('a', (x) => seen.push(-x))
      e.emit('a', 1); e.emit('a', 2); return seen })()`,
    `m.default.EventEmitter === m.default`,
    `attempt(() => new m.EventEmitter().emit('error', new Error('q')))`,
    `(() => { function F() { m.EventEmitter.call(this) } F.prototype = Object.create(m.EventEmitter.prototype)
      return new F().listenerCount('x') })()`,
  ],
  path: [
    `m.join('a', '..', 'b\\\\c')`,
    `m.normalize('a\\\\b/../c/')`,
    `m.relative('/a/b', '/a/c/d')`,
    `m.parse('/x/y.tar.gz')`,
    `m.posix.sep`,
    `m.default.extname('.x.')`,
  ],
  punycode: [`m.toASCII('mañana.com')`, `m.decode('maana-pta')`],
  querystring: [`m.parse('a=1&b=2&a=3&c').a`, `m.stringify({ a: [1, 2], b: 'x y' })`, `m.escape('a b&')`],
  stream: [
    `new Promise((resolve) => { const seen = []
      m.Readable.from(['a', 'b']).pipe(new m.Transform({ objectMode: true, transform(c, e, next) { next(null, c + '!') } }))
        .on('data', (d) => seen.push(String(d))).on('end', () => resolve(seen)) })`,
    `(async () => { let s = ''; for await (const c of m.Readable.from(['1', '2'])) s += c; return s })()`,
    `m.default.Readable === m.Readable`,
  ],
  'stream/promises': [`typeof m.pipeline`],
  string_decoder: [
    `(() => { const d = new m.StringDecoder('utf8'); return d.write(Buffer.of(0xe2, 0x82)) + d.write(Buffer.of(0xac)) })()`,
  ],
  timers: [`new Promise((resolve) => m.setImmediate(resolve, 5))`, `typeof m.setTimeout`],
  'timers/promises': [`m.setTimeout(1, 'later')`],
  url: [
    `m.parse('http://u:p@h:8/p?q=1#f').auth`,
    `m.format({ protocol: 'http', host: 'a.b', pathname: '/x', query: { a: 1 } })`,
    `m.resolve('/one/two/three', 'four')`,
    `m.fileURLToPath('file:///a%20b')`,
    `m.pathToFileURL('/a b#').href`,
  ],
  util: [
    `m.format('%s %d %j', 'a', 1.5, { a: 1 })`,
    `m.inspect({ a: [1, 'x'] })`,
    `m.inspect.custom`,
    `m.types.isRegExp(/x/)`,
    `m.isDeepStrictEqual({ a: 1 }, { a: '1' })`,
    `m.promisify((next) => next(null, 3))()`,
    `m.stripVTControlCharacters('\\x1b[31mx\\x1b[0m')`,
    `m.default.inherits === m.inherits`,
  ],
  'util/types': [`m.isDate(new Date())`],
}

const HELPERS = `const attempt = (fn) => { try { return [fn()] } catch (error) {
  return [error.name, error.code ?? '', error.message.split('\\n')[0]] } }
const simple = (value) => typeof value === 'symbol' ? String(value) : value
const evaluate = async (m) => { const values = []
  for (const expression of expressions) values.push(simple(await expression(m)))
  return values }`

Deno.test("what stands for Node's modules does as they do, imported and required", async () => {
  for (const [name, list] of Object.entries(EXPRESSIONS)) {
    const source = `${HELPERS}\nconst expressions = [${list.map((text) => `(m) => ${text}`).join(',\n')}]`
    const wanted = await (await import(
      `data:text/javascript,${
        encodeURIComponent(`import * as m from 'node:${name}'\n${source}\nexport default evaluate(m)`)
      }`
    )).default
    const files = {
      'a.ts': `import * as m from 'node:${name}'\n${source}\nexport const value = await evaluate(m)`,
    }
    assertEquals(await valueOf(files), wanted, name)
    const required = list.filter((text) => !text.includes('m.default'))
    const values = await valueOf({
      'a.ts': `import value from './node_modules/it/index.cjs'\nexport { value }`,
      'node_modules/it/index.cjs': `${
        source.replace(
          /const expressions = [^]*/,
          `const expressions = [${required.map((text) => `(m) => ${text}`).join(',')}]`,
        )
      }\nmodule.exports = evaluate(require('${name}'))`,
    })
    assertEquals(
      await values,
      wanted.filter((_: unknown, index: number) => required.includes(list[index])),
      name,
    )
  }
})

Deno.test('a module of Node that core has nothing for fails the build, unless a try is around it', async () => {
  const cases: [files: Files, file: string, line: number][] = [
    [{ 'a.ts': `\nimport 'node:fs'` }, 'a.ts', 2],
    [{ 'a.ts': `export const GET = () => import('fs')` }, 'a.ts', 1],
    [
      { 'a.ts': `import './_b.cjs'`, '_b.cjs': `\n\nexports.read = () => require('fs').readFileSync` },
      '_b.cjs',
      3,
    ],
    [
      { 'a.ts': `import './node_modules/it/index.js'`, 'node_modules/it/index.js': `require('fs')` },
      'node_modules/it/index.js',
      1,
    ],
  ]
  for (const [files, file, line] of cases) {
    const bundle = withBundle(files, () => Promise.resolve())
    const error = await assertRejects(
      () => bundle,
      ProgramError,
      `the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }`,
    )
    assert(error.place?.file.endsWith(file), error.message)
    assertEquals(error.place?.line, line)
  }
  assertEquals(
    await valueOf({
      'a.ts': `import value from './node_modules/it/index.js'\nexport { value }`,
      'node_modules/it/index.js':
        `let fs\ntry { fs = require('fs') } catch (error) { fs = 'none' }\nmodule.exports = fs`,
    }),
    'none',
  )
})

Deno.test("Node's globals are there for modules that name them, and in no other bundle", async () => {
  await withBundle({ 'a.ts': `export const GET = () => 1` }, ({ code, inputs }) => {
    assert(code.length < 2000, `${code.length} bytes`)
    assertEquals(inputs.length, 1)
    return Promise.resolve()
  })
  await withBundle({ 'a.ts': `export const value = typeof process` }, ({ inputs }) => {
    assertEquals(inputs.filter((path) => path.includes('/unenv/')), [])
    return Promise.resolve()
  })
  assertEquals(
    await valueOf({
      'a.ts':
        `export const value = [Buffer.from('a').toString('hex'), global === globalThis, process.env.NODE_ENV,
        typeof process.versions.node, process.platform, process.cwd()]`,
    }),
    ['61', true, 'production', 'undefined', 'linux', '/'],
  )
  assertEquals(
    await valueOf({
      'a.ts': `export const value = await new Promise((resolve) => process.nextTick(resolve, 'ticked'))`,
    }),
    'ticked',
  )
})

Deno.test('what a program imports of Mayfly is the facade in core too', async () => {
  await withBundle(
    {
      'a.ts':
        `import { HttpError } from '@mayfly/mayfly'\nexport const GET = () => { throw new HttpError(400) }`,
    },
    ({ code, inputs }) => {
      assertEquals(inputs.length, 1)
      assertStringIncludes(new TextDecoder().decode(code), 'from "./runtime.js"')
      return Promise.resolve()
    },
  )
})

/** What of `a.ts`, or of the given route files, uses globals that core has not; files without their folder. */
async function missingOf(files: Files): Promise<string[]> {
  let uses: string[] = []
  await withBundle(files, ({ missing, code }, folder) => {
    assert(!new TextDecoder().decode(code).includes('__mayfly'), 'a probe stays in the bundle')
    uses = missing.map(({ global, file, line, routes }) =>
      `${global} ${file.replace(`${folder}/`, '')}:${line} ${routes}`
    )
    return Promise.resolve()
  })
  return uses
}

Deno.test('a use of Intl or WebAssembly is found with its file and line, and nothing that only has the name', async () => {
  const uses = await missingOf({
    'a.ts': `import { format } from './node_modules/numbers/index.js'
import { used } from './b.ts'
export const GET = () => [format(1), used]`,
    'b.ts': `const { Intl } = { Intl: 'of its own' }
/* Intl and WebAssembly in a comment */
export const used = [Intl, 'Intl', { WebAssembly: 1 }.WebAssembly]
export const unused = () => new Intl.NumberFormat()`,
    'node_modules/numbers/package.json': '{ "name": "numbers", "main": "index.js" }',
    'node_modules/numbers/index.js': `
exports.has = typeof Intl !== 'undefined'
exports.format = (value) => new Intl.NumberFormat('en').format(value)
exports.compile = (bytes) => globalThis.WebAssembly.compile(bytes)`,
  })
  assertEquals(uses, [
    'Intl node_modules/numbers/index.js:2 0',
    'WebAssembly node_modules/numbers/index.js:4 0',
  ])
})

Deno.test('a program that uses neither has nothing to tell', async () => {
  assertEquals(await missingOf({ 'a.ts': "export const GET = () => ({ Intl: 'x' }).Intl" }), [])
})

Deno.test('a line names the route files, who uses the global, and the runtime that has it', () => {
  const use = (global: string, file: string, routes: number[]) => ({ global, file, line: 7, routes })
  const luxon = '/home/me/.cache/deno/npm/registry.example/luxon/3.7.2/src/'
  assertEquals(describeMissing([], ['routes/a.ts']), [])
  assertEquals(
    describeMissing([
      use('Intl', `${luxon}a.js`, [1]),
      use('Intl', '/home/me/site/node_modules/@x/y/b.js', [1]),
      use('Intl', '/home/me/site/routes/c.ts', [1, 2]),
      use('Intl', `${luxon}d.js`, [1]),
      use('WebAssembly', '/home/me/site/lib/w.ts', [0]),
    ], ['routes/a.ts', 'routes/b.ts', 'routes/c.ts']),
    [
      "routes/b.ts, routes/c.ts: the runtime 'core' has no Intl, which luxon/3.7.2/src/a.js:7, @x/y/b.js:7, " +
      "/home/me/site/routes/c.ts:7, and 1 more use: want isolated = { runtime: 'deno' }, unless it does without",
      "routes/a.ts: the runtime 'core' has no WebAssembly, which /home/me/site/lib/w.ts:7 uses: " +
      "want isolated = { runtime: 'deno' }, unless it does without",
    ],
  )
})
