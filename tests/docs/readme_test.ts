/** The project that the README describes is built from its blocks, and its own tests run. */
import { assert, assertEquals } from '@std/assert'
import { dirname, fromFileUrl, join } from '@std/path'

const ROOT = fromFileUrl(new URL('../..', import.meta.url))

/** The files of a page: a paragraph that names one in backticks, last of all, and the block behind it. */
function findFiles(page: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const [, paragraph, code] of page.matchAll(/((?:[^\n]+\n)+)\n```\w+\n([^]*?)```\n/g)) {
    const names = [...paragraph.matchAll(/`([\w/[\].]+\.(?:ts|dve|json))`/g)]
    if (names.length > 0) files.set(names[names.length - 1][1], code)
  }
  return files
}

Deno.test("the README's project runs its test with the README's import map", async () => {
  const files = findFiles(await Deno.readTextFile(join(ROOT, 'README.md')))
  assertEquals([...files.keys()].sort(), [
    'deno.json',
    'main.ts',
    'main_test.ts',
    'routes/hello/[name].ts',
    'routes/tenant.ts',
    'views/hello.dve',
  ])
  const folder = await Deno.makeTempDir()
  try {
    await Deno.symlink(ROOT, join(folder, 'mayfly'))
    for (const [name, code] of files) {
      const path = join(folder, 'project', name)
      await Deno.mkdir(dirname(path), { recursive: true })
      await Deno.writeTextFile(path, code)
    }
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ['test', '-A'],
      cwd: join(folder, 'project'),
      env: { NO_COLOR: '1' },
    }).output()
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)
    assert(success && output.includes('1 passed'), output)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('the README and the map are short; the list of dependencies may grow', async () => {
  for (const [name, most] of [['README.md', 150], ['ARCHITECTURE.md', 130]] as const) {
    const text = await Deno.readTextFile(join(ROOT, name))
    const lines = text.split('\n## Dependencies\n')[0].split('\n').length - 1
    assert(lines < most, `${name}: ${lines} lines, want fewer than ${most}`)
  }
})
