/** What a bundle may contain: the project's files and its packages. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { dirname, join } from '@std/path'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { type Bundle, bundleProgram } from '../../src/isolate/bundle/bundle.ts'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import type { IsolateRuntime } from '../../src/isolate/plan/options.ts'

const SECRET = 'secret-7f1c'

/** A folder with the project `site`, and the secret beside it in files of several kinds. */
async function withSite(run: (site: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir())
  const files = {
    'secret.txt': SECRET,
    'secret.json': `{ "secret": "${SECRET}" }`,
    'secret.js': `export default '${SECRET}'`,
    'secret.cjs': `module.exports = '${SECRET}'`,
    'secret.wasm': SECRET,
    'secret.css': `.${SECRET} {}`,
    'secret.js.map': `{ "version": 3, "sources": ["${SECRET}.ts"], "mappings": "AAAA" }`,
    'site/deno.json': '{}',
    'site/lib/shared.ts': `export const shared = 'shared'`,
    'site/lib/text.txt': 'text',
  }
  try {
    for (const [name, text] of Object.entries(files)) await write(join(folder, name), text)
    await Deno.mkdir(join(folder, 'site/routes'))
    await run(join(folder, 'site'))
  } finally {
    await Deno.remove(folder, { recursive: true })
    await stopEsbuild()
  }
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true })
  await Deno.writeTextFile(path, text)
}

function bundle(path: string, root: string, runtime: IsolateRuntime = 'deno'): Promise<Bundle> {
  return bundleProgram({
    root,
    files: [path],
    handlers: [{ name: 'a', file: 0, export: 'GET' }],
    outputBytes: 100,
    logBytes: 100,
    runtime,
  })
}

/** Bundles `source` as a route; `{up}` stands for the folder with the secret. */
async function bundleRoute(site: string, source: string, runtime?: IsolateRuntime): Promise<Bundle> {
  const path = join(site, 'routes/a.js')
  await Deno.writeTextFile(path, source.replaceAll('{up}', dirname(site)))
  return await bundle(path, join(site, 'routes'), runtime)
}

function assertClean({ code, map }: Bundle, about: string): void {
  assertEquals((new TextDecoder().decode(code) + map).includes(SECRET), false, about)
}

const IMPORTS = [
  `import x from '{up}/secret.txt' with { type: 'text' }`,
  `import x from '{up}/secret.txt' with { type: 'bytes' }`,
  `import x from '{up}/secret.json' with { type: 'json' }`,
  `import x from '../../secret.txt'`,
  `import x from '../../secret.js'`,
  `import '{up}/secret.js'`,
  `import x from 'file://{up}/secret.js'`,
  `import x from 'file://{up}/site/%2e%2e/secret.js'`,
  `export * from '../lib/../../secret.js'`,
  `export const x = await import('../../secret.js')`,
  `export const x = () => import('{up}/secret.txt', { with: { type: 'text' } })`,
  `export const x = () => import(\`{up}/secret.js\`)`,
  `export const x = require('../../secret.cjs')`,
  `import x from '../../secret.wasm'`,
  `import '../../secret.css'`,
  `import x from 'data:text/javascript,export { default } from "{up}/secret.js"'`,
  `import x from 'data:text/javascript,/*/npm/*/export { default } from "{up}/secret.js"'`,
  `import x from '{up}/secret.txt?a#b' with { type: 'text' }`,
  `import x from '/proc/self/environ' with { type: 'text' }`,
  `import x from '/dev/zero' with { type: 'bytes' }`,
]

Deno.test('no import brings a file from outside of the project', async () => {
  await withSite(async (site) => {
    for (const runtime of ['deno', 'core'] as const) {
      for (const statement of IMPORTS) {
        const error = await assertRejects(
          () => bundleRoute(site, `\n${statement}`, runtime),
          ProgramError,
          undefined,
          statement,
        )
        assertEquals(error.message.includes(SECRET), false, error.message)
        // A data URL has no lines of its own.
        if (statement.includes('data:')) continue
        assertEquals([error.place?.file, error.place?.line], [join(site, 'routes/a.js'), 2], error.message)
      }
    }
  })
})

Deno.test('the error says where the file lies and what is wanted', async () => {
  await withSite(async (site) => {
    const error = await assertRejects(
      () => bundleRoute(site, `import x from '../../secret.txt' with { type: 'text' }`),
      ProgramError,
    )
    assertStringIncludes(
      error.message,
      `import of ${
        dirname(site)
      }/secret.txt: it lies outside of the project ${site}, want a file of the project or a package`,
    )
    assertStringIncludes(error.message, `${site}/routes/a.js:1:15`)
  })
})

Deno.test('a symbolic link counts by where it leads', async () => {
  await withSite(async (site) => {
    await Deno.symlink(join(dirname(site), 'secret.js'), join(site, 'lib/link.js'))
    await Deno.symlink(dirname(site), join(site, 'lib/up'))
    await Deno.symlink(join(site, 'lib/shared.ts'), join(site, 'routes/_inside.ts'))
    for (const path of ['../lib/link.js', '../lib/up/secret.js']) {
      const error = await assertRejects(
        () => bundleRoute(site, `\nimport x from '${path}'\nexport const GET = () => x`),
        ProgramError,
        'outside of the project',
        path,
      )
      assertEquals([error.place?.file, error.place?.line], [join(site, 'routes/a.js'), 2])
    }
    await bundleRoute(site, `import { shared } from './_inside.ts'\nexport const GET = () => shared`)
    const link = join(site, 'routes/link.ts')
    await Deno.symlink(join(dirname(site), 'secret.js'), link)
    const error = await assertRejects(() => bundle(link, join(site, 'routes')), ProgramError, 'outside')
    assertEquals(error.place?.file, link)
    // A project that is reached by a link is where it leads, too.
    const other = join(dirname(site), 'other')
    await Deno.symlink(site, other)
    await bundleRoute(other, `import { shared } from '../lib/shared.ts'\nexport const GET = () => shared`)
  })
})

Deno.test('a package cannot name a file outside of it', async () => {
  await withSite(async (site) => {
    const folder = join(site, 'node_modules/bad')
    const fields = [
      { main: '../../../secret.cjs' },
      { main: './to' },
      { browser: { './index.js': '../../../secret.js' } },
      { exports: '../../../secret.js' },
      { main: './map.js', browser: '../../../secret.js' },
    ]
    await write(join(folder, 'index.js'), 'module.exports = 1')
    await write(join(site, 'node_modules/good/index.js'), `module.exports = require('bad')`)
    await Deno.symlink(join(dirname(site), 'secret.cjs'), join(folder, 'to.js'))
    for (const rest of fields) {
      await write(join(folder, 'package.json'), JSON.stringify({ name: 'bad', version: '1.0.0', ...rest }))
      for (const runtime of ['deno', 'core'] as const) {
        for (const specifier of ['../node_modules/good/index.js', '../node_modules/bad/index.js']) {
          const source = `export const x = require('${specifier}')`
          await bundleRoute(site, source, runtime).then(
            (bundle) => assertClean(bundle, source),
            (error) => assert(error instanceof ProgramError, error),
          )
        }
      }
    }
    await write(
      join(folder, 'index.js'),
      `module.exports = require('${dirname(site)}/secret.cjs')`,
    )
    await write(join(folder, 'package.json'), '{ "name": "bad" }')
    const error = await assertRejects(
      () => bundleRoute(site, `export const x = require('../node_modules/bad/index.js')`),
      ProgramError,
      'outside of the project',
    )
    assertEquals(error.place?.file, join(folder, 'index.js'))
  })
})

Deno.test('a source map from outside is not read, one of the project is', async () => {
  await withSite(async (site) => {
    const map = (source: string) => `{ "version": 3, "sources": ["${source}"], "mappings": "AAAA" }`
    await write(join(site, 'lib/own.js'), `export const x = 1\n//# sourceMappingURL=own.js.map`)
    await write(join(site, 'lib/own.js.map'), map('own.coffee'))
    const cases: [comment: string, seen: boolean][] = [
      ['//# sourceMappingURL=own.js.map', true],
      ['//# sourceMappingURL=../../secret.js.map', false],
      ['//@ sourceMappingURL=../../secret.js.map', false],
      ['/*# sourceMappingURL=../../secret.js.map */', false],
      ['//# sourceMappingURL=../../../../../../../../dev/zero', false],
      ['//# sourceMappingURL=file://{up}/secret.js.map', false],
      ['//# sourceMappingURL=%2e%2e/%2e%2e/secret.js.map', false],
      ['//# sourceMappingURL=own.js.map\n//# sourceMappingURL=../../secret.js.map', true],
      [`//# sourceMappingURL=data:application/json;base64,${btoa(map('own.coffee'))}`, true],
    ]
    for (const [comment, seen] of cases) {
      await write(join(site, 'lib/own.js'), `export const x = 1\n${comment.replace('{up}', dirname(site))}`)
      const made = await bundleRoute(site, `import { x } from '../lib/own.js'\nexport const GET = () => x`)
      assertClean(made, comment)
      assertEquals(made.map.includes('own.coffee'), seen, comment)
      assertEquals(made.map.includes('sourcesContent'), false)
    }
  })
})

Deno.test("a file of Deno's cache is a package only where an import of its name led there", async () => {
  await withSite(async (site) => {
    const marked = import.meta.resolve('marked')
    await assertRejects(
      () => bundleRoute(site, `import x from '${marked}'\nexport const GET = () => x`),
      ProgramError,
      'outside of the project',
    )
    await bundleRoute(site, `import { marked as x } from 'marked'\nexport const GET = () => x`)
    await bundleRoute(site, `import { Hono as x } from 'npm:hono@4.13.19/tiny'\nexport const GET = () => x`)
  })
})

Deno.test('the files of a project may be in its bundles, above the routes too', async () => {
  await withSite(async (site) => {
    const { code, inputs } = await bundleRoute(
      site,
      `import { shared } from '../lib/shared.ts'
      import text from '../lib/text.txt' with { type: 'text' }
      import { a } from 'data:text/javascript,export const a = "data"'
      export const GET = () => shared + text + a`,
    )
    for (const word of ['shared', 'text', 'data']) {
      assertStringIncludes(new TextDecoder().decode(code), `"${word}"`)
    }
    assertEquals(inputs, ['lib/shared.ts', 'lib/text.txt', 'routes/a.js'].map((name) => join(site, name)))
  })
})
