import type { Awaitable, Context } from '../context/types.ts'
import { checkOptions, optionError } from '../options/check.ts'
import { withDefaults } from '../options/resolve.ts'
import { flag, integer, type OptionRules, required, rule } from '../options/rule.ts'

/** Options of a folder of files. */
export interface StaticOptions {
  /** The folder, from the working directory. */
  dir: string
  /** Seconds for which a client may use a file without asking: `Cache-Control: public, max-age=…`. Default: no such header. */
  maxAge?: number | undefined
  /** The files never change under their names: adds `immutable`, and a `maxAge` of one year unless given. Default false. */
  immutable?: boolean | undefined
  /** The file that answers for its folder, or false for none. Default `index.html`. */
  index?: string | false | undefined
  /** Send `name.br` or `name.gz` for `name` to clients that take it, unless older than `name`. Default true. */
  precompressed?: boolean | undefined
}

/** Chooses for each request: a folder, an answer of its own, or nothing. */
export type StaticResolver = (ctx: Context) => Awaitable<string | Response | undefined>

/** What `router.static` takes: a folder, options, or a function. */
export type StaticSource = string | StaticOptions | StaticResolver

/** Options with their defaults; the folder may depend on the request. */
export interface StaticRules {
  readonly dir: string | StaticResolver
  readonly cacheControl: string | undefined
  readonly index: string | undefined
  readonly precompressed: boolean
}

const YEAR_SECONDS = 31_536_000

const RULES: OptionRules<StaticOptions> = {
  dir: required(rule(
    'a folder as non-empty text',
    (value) => (typeof value === 'string' && value !== '') || typeof value === 'function',
  )),
  maxAge: integer(0, 2 ** 31),
  immutable: flag(),
  index: rule(
    'the name of a file, or false',
    (value) => value === false || (typeof value === 'string' && value !== '' && !/[/\\\0]/.test(value)),
  ),
  precompressed: flag(),
}

/** Checks a source. Throws `TypeError` or `RangeError` that names the fault. */
export function resolveStaticSource(prefix: string, source: StaticSource): StaticRules {
  const attempt = `serve files at "${prefix}"`
  if (typeof source === 'string' || typeof source === 'function') {
    if (source === '') throw optionError(attempt, 'dir', source, RULES.dir.wanted)
    return {
      dir: source,
      cacheControl: undefined,
      index: 'index.html',
      precompressed: true,
    }
  }
  if (typeof source !== 'object' || source === null) {
    throw new TypeError(
      `Cannot ${attempt}: got ${Deno.inspect(source)}, want a folder, options or a function`,
    )
  }
  checkOptions(attempt, source, RULES)
  const { dir, maxAge, immutable, index, precompressed } = withDefaults(source, {
    immutable: false,
    index: 'index.html',
    precompressed: true,
  })
  return {
    dir,
    cacheControl: toCacheControl(maxAge, immutable),
    index: index === false ? undefined : index,
    precompressed,
  }
}

function toCacheControl(maxAge: number | undefined, immutable: boolean): string | undefined {
  if (immutable) return `public, max-age=${maxAge ?? YEAR_SECONDS}, immutable`
  return maxAge === undefined ? undefined : `public, max-age=${maxAge}`
}
