import { accepts } from '@std/http/negotiation'

/** True when the client's Accept prefers JSON to HTML by its q-values. No preference, or no header, means a page. */
export function prefersJson(headers: Headers): boolean {
  const accept = headers.get('accept')
  if (accept === null) return false
  const type = accepts({ headers }, 'text/html', 'application/problem+json', 'application/json')
  return type !== undefined && type !== 'text/html'
}
