/** JSX in plain routes: as the project's `deno.json` says, whatever Deno was started with. */
import { Router } from '@mayfly/mayfly'
import { assertEquals, assertMatch } from '@std/assert'
import { dirname, join } from '@std/path'

const PAGE = `const page = <main id="a"><>b</><i>{1 + 1}</i></main>
export const GET = (): Response => Response.json(page)`
const FILES = {
  '_h.ts':
    `export const h = (...given: unknown[]) => ['h', ...given]\nexport const F = 'F'\nexport { h as other }`,
  '_tags/jsx-runtime':
    `export const jsx = (kind, { children, ...props }) => ['tags', kind, props, children]\nexport const jsxs = jsx\nexport const Fragment = 'Fragment'`,
}
const CLASSIC = ['h', 'main', { id: 'a' }, ['h', 'F', null, 'b'], ['h', 'i', null, 2]]
const AUTOMATIC = ['tags', 'main', { id: 'a' }, [['tags', 'Fragment', {}, 'b'], ['tags', 'i', {}, 2]]]

/** Opens a router over the files and asks for each path: status and text. */
async function ask(
  files: Readonly<Record<string, string>>,
  compilerOptions: unknown,
  ...paths: string[]
): Promise<[number, string][]> {
  const folder = await Deno.makeTempDir()
  const all = { ...FILES, ...files, 'deno.json': JSON.stringify({ compilerOptions }) }
  for (const [name, text] of Object.entries(all)) {
    const path = join(folder, name)
    await Deno.mkdir(dirname(path), { recursive: true })
    await Deno.writeTextFile(path, text)
  }
  const router = new Router({ routesDir: join(folder, 'routes'), hotReload: false, isolate: false })
  try {
    const answers: [number, string][] = []
    for (const path of paths) {
      const response = await router.fetch(new Request(`http://localhost${path}`))
      answers.push([response.status, await response.text()])
    }
    return answers
  } finally {
    await router.close()
    await Deno.remove(folder, { recursive: true })
  }
}

Deno.test('JSX of a plain route goes by the options of its project', async () => {
  const route = { 'routes/a.tsx': `import { F, h } from '../_h.ts'\n${PAGE}` }
  const factory = { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'F' }
  const [[status, text]] = await ask(route, factory, '/a')
  assertEquals([status, JSON.parse(text)], [200, CLASSIC])
})

Deno.test('JSX of a plain route, and of what it imports, imports the runtime of the options', async () => {
  const files = {
    'routes/a.tsx': PAGE,
    'routes/b.ts': `import { page } from './_part.jsx'\nexport const GET = () => Response.json(page)`,
    'routes/_part.jsx': PAGE.split('\n')[0].replace('const', 'export const'),
  }
  const options = { jsx: 'react-jsx', jsxImportSource: '../_tags' }
  for (const [status, text] of await ask(files, options, '/a', '/b')) {
    assertEquals([status, JSON.parse(text)], [200, AUTOMATIC])
  }
})

Deno.test('a file that names its own functions for JSX goes by these', async () => {
  const route = {
    'routes/a.tsx': `/** @jsx other */\n/** @jsxFrag F */\nimport { F, other } from '../_h.ts'\n${PAGE}`,
  }
  const [[status, text]] = await ask(route, { jsx: 'react-jsx', jsxImportSource: '../_tags' }, '/a')
  assertEquals([status, JSON.parse(text)], [200, CLASSIC])
})

Deno.test('JSX that does not parse is told with its line', async () => {
  const before = Deno.env.get('DENO_ENV')
  Deno.env.set('DENO_ENV', 'development')
  try {
    const [[status, text]] = await ask({ 'routes/a.tsx': 'const x = 1\nconst y = <a>' }, {}, '/a')
    assertEquals(status, 500)
    assertMatch(text, /a\.tsx:2:/)
  } finally {
    if (before === undefined) Deno.env.delete('DENO_ENV')
    else Deno.env.set('DENO_ENV', before)
  }
})
