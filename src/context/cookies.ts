/**
 * The pairs of a Cookie header by name, the first of a name that repeats (RFC 6265, section 5.4 puts the most specific first).
 * What is no pair is skipped: a client may send anything, and other software on the domain may set it.
 */
export function parseCookies(header: string | null): Record<string, string> {
  const cookies: Record<string, string> = Object.create(null)
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals).trim()
    if (equals > 0 && name !== '') cookies[name] ??= pair.slice(equals + 1).trim()
  }
  return cookies
}
