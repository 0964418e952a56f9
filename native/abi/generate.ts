/**
 * Writes the tables of this crate for TypeScript: `deno run -A native/abi/generate.ts`. A test of `deno task check` fails where the file is
 * not what this would write.
 */
import { fromFileUrl } from '@std/path'

const SOURCES = ['limits.rs', 'deno.rs'].map((name) => fromFileUrl(new URL(`src/${name}`, import.meta.url)))

/** The file that is written. */
export const TABLES = fromFileUrl(new URL('../../src/isolate/plan/native_tables.ts', import.meta.url))

const CONSTANT = /((?:^\/\/\/.*\n)+)^pub const (\w+): ([^=]+) = ([^;]+);\n/gm
const INTEGER = /^(\d[\d_]*)(?: << (\d+))?$/
const LIST = /^&\[\s*((?:"[^"\\]*",\s*)*)\]$/

/** What {@link TABLES} is to hold. Throws `SyntaxError` at a constant that is neither an integer nor a list of texts. */
export async function writeTables(): Promise<string> {
  const parts = ['/** Tables of `native/abi`, written by its `generate.ts`; change them there. */\n']
  for (const path of SOURCES) parts.push(...toConstants(path, await Deno.readTextFile(path)))
  return parts.join('\n')
}

/** The constants of a Rust file as TypeScript. */
export function toConstants(path: string, source: string): string[] {
  const constants = [...source.matchAll(CONSTANT)]
  const wanted = source.match(/\bconst \w+:/g)?.length ?? 0
  if (constants.length !== wanted) {
    throw new SyntaxError(
      `Reading ${path}: ${constants.length} constants, want all ${wanted} public and explained`,
    )
  }
  return constants.map(([, docs, name, , value]) => {
    const lines = docs!.trimEnd().split('\n').map((line) => line.slice(4))
    const comment = lines.length === 1
      ? `/** ${lines[0]} */`
      : ['/**', ...lines.map((line) => ` * ${line}`), ' */'].join('\n')
    return `${comment}\nexport const ${name} = ${toValue(`${path}: ${name}`, value!)}\n`
  })
}

function toValue(where: string, value: string): string {
  const integer = INTEGER.exec(value)
  if (integer !== null) {
    const [, digits, shift = '0'] = integer
    return String(BigInt(digits!.replaceAll('_', '')) << BigInt(shift)).replace(/\B(?=(?:\d{3})+$)/g, '_')
  }
  const list = LIST.exec(value)
  if (list === null) throw new SyntaxError(`Reading ${where}: ${value}, want an integer or a list of texts`)
  const texts = [...list[1]!.matchAll(/"([^"]*)"/g)].map(([, text]) => `  '${text}',\n`)
  return `[\n${texts.join('')}] as const`
}

if (import.meta.main) await Deno.writeTextFile(TABLES, await writeTables())
