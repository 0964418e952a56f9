import { assertEquals, assertRejects } from '@std/assert'
import { dirname, join } from '@std/path'
import { findProject } from '../../src/isolate/resolve/project.ts'

/** A folder that holds `files`, and the project of each of `asked` in it. */
async function projectsOf(
  files: Readonly<Record<string, string>>,
  asked: readonly string[],
): Promise<string[]> {
  const root = await Deno.realPath(await Deno.makeTempDir())
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(root, name)), { recursive: true })
      await Deno.writeTextFile(join(root, name), text)
    }
    for (const name of asked) await Deno.mkdir(join(root, name), { recursive: true })
    return await Promise.all(
      asked.map(async (name) => (await findProject(join(root, name))).slice(root.length + 1)),
    )
  } finally {
    await Deno.remove(root, { recursive: true })
  }
}

Deno.test('a project is the nearest folder with a configuration or a lock file', async () => {
  assertEquals(
    await projectsOf({ 'a/deno.jsonc': '// {', 'a/b/c/package.json': '{}' }, ['a/b/c', 'a/b', 'a']),
    [
      'a/b/c',
      'a',
      'a',
    ],
  )
  assertEquals(await projectsOf({ 'x/deno.lock': '{}' }, ['x/routes']), ['x'])
  assertEquals(await projectsOf({}, ['lonely/routes']), ['lonely/routes'])
  await assertRejects(() => findProject('/nonexistent/routes'), Deno.errors.NotFound)
})

Deno.test('a member belongs to its workspace, and nothing else does', async () => {
  const members = {
    'w/site/deno.json': '{}',
    'w/packages/a/package.json': '{}',
    'w/packages/b/deno.json': '{}',
  }
  const asked = ['w/site/routes', 'w/packages/a', 'w/packages/b/routes/c']
  const apart = ['w/site', 'w/packages/a', 'w/packages/b']
  const cases: [name: string, text: string, wanted: string[]][] = [
    ['deno.json', '{ "workspace": ["./site", "./packages/*"] }', ['w', 'w', 'w']],
    ['deno.jsonc', '{ "workspace": { "members": ["packages/a", ], }, /* one */ }', [apart[0], 'w', apart[2]]],
    ['package.json', '{ "workspaces": { "packages": ["packages/**"] } }', [apart[0], 'w', 'w']],
    ['package.json', '{ "workspaces": ["packages/*", "!packages/b"] }', [apart[0], 'w', apart[2]]],
    ['deno.json', '{ "workspace": "site" }', apart],
    ['deno.json', '{ "workspace": ["../w/si", 5] }', apart],
    ['deno.json', 'null', apart],
    ['deno.json', '{ broken', apart],
  ]
  for (const [name, text, wanted] of cases) {
    assertEquals(await projectsOf({ ...members, [`w/${name}`]: text }, asked), wanted, text)
  }
})

Deno.test('a folder counts by where it leads', async () => {
  const root = await Deno.realPath(await Deno.makeTempDir())
  try {
    await Deno.mkdir(join(root, 'real/routes'), { recursive: true })
    await Deno.mkdir(join(root, 'other'))
    await Deno.writeTextFile(join(root, 'real/deno.json'), '{}')
    await Deno.writeTextFile(join(root, 'other/deno.json'), '{}')
    await Deno.symlink(join(root, 'real/routes'), join(root, 'other/routes'))
    assertEquals(await findProject(join(root, 'other/routes')), join(root, 'real'))
  } finally {
    await Deno.remove(root, { recursive: true })
  }
})
