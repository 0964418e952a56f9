import { optionError } from '../options/check.ts'

/** Throws `TypeError` when a cookie's name promises what its attributes do not hold (RFC 6265bis, section 4.1.3). */
export function checkCookiePrefix(
  factory: string,
  name: string,
  attributes: { secure: boolean; path: string; domain?: string | undefined },
): void {
  const { secure, path, domain } = attributes
  if (/^__(?:Host|Secure)-/i.test(name) && !secure) {
    throw optionError(`make ${factory}`, 'cookieName', name, 'secure: true beside this prefix')
  }
  if (/^__Host-/i.test(name) && (path !== '/' || domain !== undefined)) {
    throw optionError(`make ${factory}`, 'cookieName', name, 'path "/" and no domain beside this prefix')
  }
}
