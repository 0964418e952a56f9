/** Paths of a route's pattern, for warm-up requests only: the router's tree decides about real ones. */

const PARAMETER = /\[\[([^\]]+)\]\]|\[(?:\.\.\.)?([^\]]+)\]/g

/** A path that the pattern matches: `value` for each parameter, optional ones included. */
export function samplePath(pattern: string, value: string): string {
  return pattern.replaceAll(PARAMETER, value)
}

/** Parameters and wildcards as frameworks write them: `:id`, `:id?`, `:id{[0-9]+}`, `*`. */
const APP_PARAMETER = /:\w+(?:\{[^/]*\}|\([^/]*\))?\??|\*+/g

/** A path that an app's own route below `mount` matches. The route may name the mount, or leave that to the app's base path. */
export function sampleAppPath(mount: string, route: string, value: string): string {
  const own = route.replaceAll(APP_PARAMETER, value)
  const base = samplePath(mount, value)
  if (base === '/' || own === base || own.startsWith(`${base}/`)) return own
  return own === '/' ? base : base + own
}

/** The parameters of a path, decoded; null when the pattern does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const names: string[] = []
  let source = ''
  for (const segment of pattern.split('/').slice(1)) {
    const optional = /^\[\[([^\]]+)\]\]$/.exec(segment)
    if (optional !== null) {
      names.push(optional[1]!)
      source += '(?:/([^/]+))?'
      continue
    }
    source += '/'
    let end = 0
    for (const found of segment.matchAll(/\[(\.\.\.)?([^\]]+)\]/g)) {
      source += RegExp.escape(segment.slice(end, found.index)) + (found[1] === undefined ? '([^/]+)' : '(.+)')
      names.push(found[2]!)
      end = found.index + found[0].length
    }
    source += RegExp.escape(segment.slice(end))
  }
  const match = new RegExp(`^${source}/?$`).exec(path)
  if (match === null) return null
  const params: Record<string, string> = Object.create(null)
  for (const [index, name] of names.entries()) {
    const value = match[index + 1]
    if (value !== undefined) params[name] = decodeURIComponent(value)
  }
  return params
}
