/** The page of options names every option, with the default that the code documents. */
import { assert, assertEquals } from '@std/assert'

const ROOT = new URL('../../', import.meta.url)

/** The options of an interface in a source file: name, and what its comment says after "Default". */
async function readOptions(
  path: string,
  name: string,
): Promise<{ name: string; words: string | undefined }[]> {
  const text = await Deno.readTextFile(new URL(path, ROOT))
  const body = new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`).exec(text)?.[1]
  assert(body !== undefined, `${path} has no interface ${name}`)
  return [...body.matchAll(/(?:\/\*\*((?:(?!\*\/)[^])*)\*\/\n)?^ {2}(?:readonly )?(\w+)\??: /gm)].map((
    [, comment, name],
  ) => ({
    name: name!,
    words: /Default:? (true|false|\d+(?: \d{3})*(?!\w)|`[^`]+`)/.exec(comment ?? '')?.[1],
  }))
}

const TABLES = [
  ['src/app/options.ts', 'RouterOptions', ''],
  ['src/worker/types.ts', 'WorkerPoolOptions', 'worker.'],
  ['src/app/options.ts', 'IsolateRouterOptions', 'isolate.'],
  ['src/tenants/options.ts', 'TenantsOptions', 'tenants.'],
  ['src/dve/limits.ts', 'EngineLimits', ''],
  ['src/server/listen.ts', 'ServeOptions', ''],
] as const

Deno.test('docs/options.md names every option with its default', async () => {
  const page = await Deno.readTextFile(new URL('docs/options.md', ROOT))
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const missing: string[] = []
  let count = 0
  for (const [path, interfaceName, prefix] of TABLES) {
    for (const { name, words } of await readOptions(path, interfaceName)) {
      if (prefix === '' && ['worker', 'isolate', 'tenants'].includes(name)) continue
      count++
      const row = rows.find((line) => line.split('|')[1]!.includes(`\`${prefix}${name}\``))
      if (row === undefined) missing.push(`${prefix}${name}`)
      else if (
        words !== undefined && /\d/.test(words) && !row.split('|')[2]!.replaceAll('`', '').includes(words)
      ) {
        missing.push(`${prefix}${name}: default ${words}, the page says${row.split('|')[2]}`)
      }
    }
  }
  assert(count > 30, `${count} options were found`)
  assertEquals(missing, [])
})
