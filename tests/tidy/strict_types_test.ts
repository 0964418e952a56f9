/** Deno checks the sources of a linked package under the options of the user's own `deno.json`: none of them may find an error in Mayfly's. */
import { assert } from '@std/assert'
import { fromFileUrl } from '@std/path'

const ROOT = new URL('../../', import.meta.url)

/** The strictest options that TypeScript has, less those that forbid a style. */
const STRICTEST = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noFallthroughCasesInSwitch: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  useUnknownInCatchVariables: true,
}

Deno.test('the framework compiles under the strictest options of its users', async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL('deno.json', ROOT)))
  const toAbsolute = (
    [name, target]: [string, string],
  ) => [name, target.startsWith('./') ? new URL(target, ROOT).href : target]
  const folder = await Deno.makeTempDir()
  try {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      JSON.stringify({
        imports: Object.fromEntries(Object.entries<string>(config.imports).map(toAbsolute)),
        compilerOptions: STRICTEST,
        unstable: config.unstable,
      }),
    )
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        'check',
        '--quiet',
        '--no-lock',
        '--config',
        `${folder}/deno.json`,
        fromFileUrl(new URL('mod.ts', ROOT)),
      ],
      env: { NO_COLOR: '1' },
    }).output()
    assert(success, new TextDecoder().decode(stderr))
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})
