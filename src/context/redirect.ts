const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * The Location of a redirect. A target with a scheme must be http(s); any other is relative and must stay on the origin
 * of `base`. Throws `RangeError` for a status that is no redirect and `TypeError` for a refused target.
 */
export function toLocation(target: string, base: string, status: number): string {
  if (!STATUSES.has(status)) {
    throw new RangeError(`Cannot redirect with status ${status}: want 301, 302, 303, 307 or 308`)
  }
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(target)) throw refused(target, 'it has control characters')
  const origin = new URL(base)
  let url: URL
  try {
    url = new URL(target, origin)
  } catch {
    throw refused(target, 'it is no URL')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused(target, 'its scheme is not http(s)')
  }
  if (/^\s*https?:\/\//i.test(target)) return url.href
  if (url.origin !== origin.origin) throw refused(target, 'a relative target must stay on the origin')
  return url.pathname + url.search + url.hash
}

function refused(target: string, why: string): TypeError {
  return new TypeError(`Cannot redirect to ${JSON.stringify(target)}: ${why}`)
}
