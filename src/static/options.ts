import type { Awaitable, Context } from '../context/types.ts'

/** Options of a folder of files. */
export interface StaticOptions {
  /** The folder, from the working directory. */
  dir: string
  /** Seconds for which a client may use a file without asking: `Cache-Control: public, max-age=…`. Default: no such header. */
  maxAge?: number
  /** The files never change under their names: adds `immutable`, and a `maxAge` of one year unless given. Default false. */
  immutable?: boolean
  /** The file that answers for its folder, or false for none. Default `index.html`. */
  index?: string | false
  /** Send `name.br` or `name.gz` for `name` to clients that take it, unless older than `name`. Default true. */
  precompressed?: boolean
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

/** Checks a source. Throws `TypeError` or `RangeError` that names the fault. */
export function resolveStaticSource(prefix: string, source: StaticSource): StaticRules {
  if (typeof source === 'string' || typeof source === 'function') {
    return {
      dir: checkDir(prefix, source),
      cacheControl: undefined,
      index: 'index.html',
      precompressed: true,
    }
  }
  if (typeof source !== 'object' || source === null) {
    throw new TypeError(
      `Cannot serve files at "${prefix}": got ${Deno.inspect(source)}, want a folder, options or a function`,
    )
  }
  const { dir, maxAge, immutable = false, index = 'index.html', precompressed = true, ...rest } = source
  for (const name of Object.keys(rest)) {
    throw fault(prefix, name, (rest as Record<string, unknown>)[name], 'no such option')
  }
  if (maxAge !== undefined && typeof maxAge !== 'number') {
    throw fault(prefix, 'maxAge', maxAge, 'whole seconds')
  }
  if (maxAge !== undefined && (!Number.isInteger(maxAge) || maxAge < 0 || maxAge > 2 ** 31)) {
    throw fault(prefix, 'maxAge', maxAge, 'whole seconds from 0 to 2147483648', RangeError)
  }
  if (typeof immutable !== 'boolean') throw fault(prefix, 'immutable', immutable, 'true or false')
  if (typeof precompressed !== 'boolean') throw fault(prefix, 'precompressed', precompressed, 'true or false')
  if (index !== false && (typeof index !== 'string' || index === '' || /[/\\\0]/.test(index))) {
    throw fault(prefix, 'index', index, 'the name of a file, or false')
  }
  return {
    dir: checkDir(prefix, dir),
    cacheControl: toCacheControl(maxAge, immutable),
    index: index === false ? undefined : index,
    precompressed,
  }
}

function checkDir<T>(prefix: string, dir: T): T {
  if (dir === undefined || dir === '' || (typeof dir !== 'string' && typeof dir !== 'function')) {
    throw fault(prefix, 'dir', dir, 'a folder as non-empty text')
  }
  return dir
}

function toCacheControl(maxAge: number | undefined, immutable: boolean): string | undefined {
  if (immutable) return `public, max-age=${maxAge ?? YEAR_SECONDS}, immutable`
  return maxAge === undefined ? undefined : `public, max-age=${maxAge}`
}

function fault(prefix: string, name: string, value: unknown, wanted: string, Kind = TypeError): Error {
  return new Kind(`Cannot serve files at "${prefix}": ${name} is ${Deno.inspect(value)}, want ${wanted}`)
}
