import { resolveStaticSource, type StaticRules, type StaticSource } from './options.ts'

/** Files under a prefix of the URL. */
export interface StaticMount {
  /** Starts with a slash and ends without one; empty for the root. */
  readonly prefix: string
  readonly rules: StaticRules
}

/** A mount of `router.static`. Touches no file. Throws `TypeError` or `RangeError` for a prefix or options that cannot be meant. */
export function createStaticMount(prefix: string, source: StaticSource): StaticMount {
  if (typeof prefix !== 'string' || !prefix.startsWith('/')) {
    throw new TypeError(`Cannot serve files at ${Deno.inspect(prefix)}: want a path that starts with a slash`)
  }
  const bare = prefix.replace(/\/+$/, '')
  if (/[?#*\\\0%]|\/\/|\/\.\.?(?:\/|$)/.test(bare)) {
    throw new TypeError(
      `Cannot serve files at "${prefix}": want a plain path, without patterns, escapes, "//" and dot segments`,
    )
  }
  return { prefix: bare, rules: resolveStaticSource(prefix, source) }
}

/** The mounts in the order in which they are asked: the longest prefix first, equal ones as they were added. */
export function sortMounts(mounts: readonly StaticMount[]): StaticMount[] {
  return mounts.toSorted((a, b) => b.prefix.length - a.prefix.length)
}

/** True when `path` is the mount's prefix or below it. */
export function covers(mount: StaticMount, path: string): boolean {
  const { prefix } = mount
  if (!path.startsWith(prefix)) return false
  return path.length === prefix.length || path.charCodeAt(prefix.length) === 47
}
