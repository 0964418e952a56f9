/** What only development shows must be asked for: an environment that says nothing is production's. */
import { assertEquals } from '@std/assert'
import { isDevelopment } from '../../src/app/environment.ts'
import { setEnvironment } from '../environment.ts'

const ROWS: readonly [environment: Readonly<Record<string, string>>, development: boolean][] = [
  [{}, false],
  [{ DENO_ENV: '' }, false],
  [{ DENO_ENV: 'production' }, false],
  [{ DENO_ENV: 'staging' }, false],
  [{ DENO_ENV: 'Development' }, false],
  [{ NODE_ENV: 'development' }, false],
  [{ DENO_ENV: 'development' }, true],
  [{ DENO_ENV: 'development', NODE_ENV: 'production' }, true],
]

for (const [environment, development] of ROWS) {
  Deno.test(`the environment ${JSON.stringify(environment)} is ${development ? '' : 'not '}development`, () => {
    using _environment = setEnvironment(environment)
    assertEquals(isDevelopment(), development)
  })
}

Deno.test({
  name: 'an environment that may not be read is not development',
  permissions: { env: false },
  fn: () => assertEquals(isDevelopment(), false),
})

Deno.test('`deno task dev` asks for development, `deno task start` does not', async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL('../../deno.json', import.meta.url)))
  assertEquals(
    [tasks.dev.command, tasks.start.command].map((command) => /^DENO_ENV=development /.test(command)),
    [true, false],
  )
})
