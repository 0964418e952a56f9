/** Cookies by RFC 6265bis (deno-std http/cookie). */
export interface Cookie {
  name: string
  value: string
  expires?: Date | number
  maxAge?: number
  domain?: string
  path?: string
  secure?: boolean
  httpOnly?: boolean
  sameSite?: 'Strict' | 'Lax' | 'None'
  partitioned?: boolean
  unparsed?: string[]
}
export function getCookies(headers: Headers): Record<string, string>
export function setCookie(headers: Headers, cookie: Cookie): void
export function deleteCookie(
  headers: Headers,
  name: string,
  attributes?: Pick<Cookie, 'path' | 'domain' | 'secure' | 'httpOnly' | 'partitioned'>,
): void
export function getSetCookies(headers: Headers): Cookie[]
