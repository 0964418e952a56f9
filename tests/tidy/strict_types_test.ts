/** Deno checks the sources of a linked package under the options of the user's own `deno.json`: none of them may find an error in Mayfly's. */
import { assert, assertStringIncludes } from '@std/assert'

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

Deno.test('the framework compiles under the strictest options of its users, and takes their undefined options', async () => {
  const { success, errors } = await checkStrictly(await takesUndefined())
  assert(success, errors)
})

Deno.test('the check of undefined options sees one that has to be left out', async () => {
  const { success, errors } = await checkStrictly(`${TAKES}
export const wrong: Takes<{ a?: number | undefined; b?: number }> = true\n`)
  assert(!success)
  assertStringIncludes(errors, "not assignable to type 'never'")
})

/** True for a type whose optional members take undefined: `{ timeoutMs: settings.timeoutMs }`. */
const TAKES = `
type Optional<T> = { [Name in keyof T]-?: object extends Pick<T, Name> ? Name : never }[keyof T]
type Takes<T> = { [Name in Optional<T>]: undefined } extends Pick<T, Optional<T>> ? true : never`

/** A module that does not compile unless all public types of options take undefined. */
async function takesUndefined(): Promise<string> {
  const lines = [
    "import type * as mayfly from '@mayfly/mayfly'",
    "import type * as sandbox from '@mayfly/mayfly/sandbox'",
    TAKES,
  ]
  const add = async (room: string, path: string) => {
    const text = await Deno.readTextFile(new URL(path, ROOT))
    for (const name of new Set(text.match(/\b\w+(?:Options|Limits)\b/g))) {
      lines.push(`export const ${room}${name}: Takes<${room}.${name}> = true`)
    }
  }
  await add('mayfly', 'mod.ts')
  await add('mayfly', 'src/middleware/mod.ts')
  await add('sandbox', 'src/sandbox/mod.ts')
  assert(lines.length > 20, `${lines.length} lines, want one for each type`)
  return lines.join('\n')
}

/** Checks a user's module, and all that it imports. */
async function checkStrictly(source: string): Promise<{ success: boolean; errors: string }> {
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
    await Deno.writeTextFile(`${folder}/user.ts`, source)
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        'check',
        '--quiet',
        '--no-lock',
        '--config',
        `${folder}/deno.json`,
        `${folder}/user.ts`,
      ],
      env: { NO_COLOR: '1' },
    }).output()
    return { success, errors: new TextDecoder().decode(stderr) }
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}
