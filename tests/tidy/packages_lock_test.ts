/** The lock file of `tests/packages` knows the packages of the project, which is linked there; those tests start with `--frozen`. */
import { assertEquals } from '@std/assert'
import { join } from '@std/path'
import { ROOT } from './source_tree.ts'

Deno.test('the lock of tests/packages lists what the project imports (else: deno install there)', async () => {
  const read = async (path: string) => JSON.parse(await Deno.readTextFile(join(ROOT, path)))
  const { imports } = await read('deno.json') as { imports: Record<string, string> }
  const { workspace: { links } } = await read('tests/packages/deno.lock') as {
    workspace: { links: Record<string, { dependencies: string[] }> }
  }
  const known = new Set(Object.values(links).flatMap(({ dependencies }) => dependencies))
  const wanted = Object.values(imports)
    .filter((to) => to.startsWith('npm:'))
    .map((to) => /^npm:\/?(@?[^@]+@[^/]+)/.exec(to)![1]!)
  assertEquals(wanted.filter((name) => !known.has(`npm:${name}`)), [])
})
