/** Packages that the import map names and the lock file does not, found in a process of its own: in this one they may be known. */
import { assertEquals } from '@std/assert'
import { join } from '@std/path'
import { installPackage } from '../../src/isolate/resolve/deno_resolve.ts'
import config from '../../deno.json' with { type: 'json' }
import { withRoutes } from './guest_process.ts'

const ROOT = new URL('../../', import.meta.url)
const SCRIPT = `
  import { planPrograms } from ${JSON.stringify(new URL('src/isolate/plan/program.ts', ROOT).href)}
  import { stopEsbuild } from ${JSON.stringify(new URL('src/compiler/esbuild.ts', ROOT).href)}
  const [path] = Deno.args
  const { programs, failures } = await planPrograms([{ file: 'a.ts', path, pattern: '/a', methods: ['GET'], mount: false }])
  const inputs = programs.flatMap(({ bundle }) => bundle.inputs.filter((name) => name !== path))
  console.log(JSON.stringify({ inputs, errors: failures.map(({ error }) => error.message) }))
  await stopEsbuild()
`

/** What a plan of one route tells, in a process with this import map beside Mayfly's own. */
async function plan(
  source: string,
  imports: Readonly<Record<string, string>>,
): Promise<{ inputs: string[]; errors: string[] }> {
  const own = Object.entries(config.imports).map((
    [name, target],
  ) => [name, target.startsWith('./') ? new URL(target, ROOT).href : target])
  let told = ''
  const files = {
    'a.ts': `export const isolated = true\n${source}\nexport const GET = () => new Response()`,
    'deno.json': JSON.stringify({ imports: { ...Object.fromEntries(own), ...imports } }),
    'plan.ts': SCRIPT,
  }
  await withRoutes(files, async (folder) => {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ['run', '-A', '--no-lock', '--no-check', '--quiet', 'plan.ts', join(folder, 'a.ts')],
      cwd: folder,
      stdin: 'null',
    }).output()
    const decoder = new TextDecoder()
    told = decoder.decode(stdout) || `{ "inputs": [], "errors": ${JSON.stringify([decoder.decode(stderr)])} }`
  })
  return JSON.parse(told)
}

Deno.test('a package that only the import map names is found as Deno finds it', async () => {
  const { inputs, errors } = await plan(`import ipaddr from 'addresses'\nexport const x = ipaddr`, {
    addresses: 'npm:ipaddr.js@2.5.0',
  })
  assertEquals(errors, [])
  assertEquals(inputs.map((path) => path.split('/').at(-1)), ['ipaddr.js'])
})

Deno.test('a name that nothing names says what to run', async () => {
  const { errors } = await plan(`import 'no-such-name'`, {})
  assertEquals(errors.length, 1)
  for (const part of [`import 'no-such-name'`, `'deno add npm:no-such-name'`, 'a.ts:2:8']) {
    assertEquals(errors[0].includes(part), true, errors[0])
  }
})

Deno.test('nothing of what is looked for runs', async () => {
  const module = 'data:text/javascript,globalThis.mayflyRan = true'
  await installPackage(module)
  assertEquals('mayflyRan' in globalThis, false)
  await import(module)
  assertEquals('mayflyRan' in globalThis, true, 'the module shows nothing')
  Reflect.deleteProperty(globalThis, 'mayflyRan')
})
