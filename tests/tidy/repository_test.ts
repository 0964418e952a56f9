import { assertEquals } from '@std/assert'
import { join } from '@std/path'
import { findFiles, readSources, ROOT } from './source_tree.ts'

const SOURCES = ['.ts', '.rs', '.js', '.dve', '.sh']

Deno.test('no source file is longer than 500 lines', async () => {
  const long: string[] = []
  for (const path of await findFiles('.', SOURCES)) {
    const lines = (await Deno.readTextFile(join(ROOT, path))).split('\n').length - 1
    if (lines > 500) long.push(`${path}: ${lines}`)
  }
  assertEquals(long, [])
})

Deno.test('the top level holds what the layout names and nothing else', async () => {
  const allowed = new Set([
    ...['deno.json', 'deno.lock', 'mod.ts', 'src', 'native', 'benchmark', 'routes', 'views', 'tests'],
    ...['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs'],
    ...['.git', '.gitignore', '.ci', 'node_modules'],
  ])
  const extra: string[] = []
  for await (const { name } of Deno.readDir(ROOT)) if (!allowed.has(name)) extra.push(name)
  assertEquals(extra, [])
})

Deno.test('the changelog has an open section and deno.json a version', async () => {
  const changelog = await Deno.readTextFile(join(ROOT, 'CHANGELOG.md'))
  const { version } = JSON.parse(await Deno.readTextFile(join(ROOT, 'deno.json')))
  assertEquals(/^## Unreleased$/m.test(changelog), true)
  assertEquals(/^\d+\.\d+\.\d+$/.test(version), true)
})

Deno.test('public types hold no any, and no work is left for later', async () => {
  const found: string[] = []
  for (const { path, text } of await readSources()) {
    text.split('\n').forEach((line, index) => {
      const code = line.replace(/\/\/.*$|^\s*\*.*$/, '')
      if (/[:<|,(]\s*any\b(?!:|\[\]\) => unknown)/.test(code) || /\bTODO\b|\bFIXME\b|\bXXX\b/.test(line)) {
        found.push(`${path}:${index + 1}: ${line.trim()}`)
      }
    })
  }
  assertEquals(found, [])
})

Deno.test('importing mod.ts asks for no permission', async () => {
  const script = await Deno.makeTempFile({ suffix: '.ts' })
  try {
    await Deno.writeTextFile(
      script,
      `await import(${JSON.stringify(new URL('../../mod.ts', import.meta.url).href)})`,
    )
    const bare = await new Deno.Command(Deno.execPath(), {
      args: [
        'run',
        '--no-prompt',
        '--no-check',
        '--config',
        join(ROOT, 'deno.json'),
        `--allow-read=${ROOT}`,
        script,
      ],
      env: { NO_COLOR: '1' },
    }).output()
    assertEquals(bare.success, true, new TextDecoder().decode(bare.stderr))
  } finally {
    await Deno.remove(script)
  }
})
