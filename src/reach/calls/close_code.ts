/** How a WebSocket may be closed. */

/** Most bytes of a reason (RFC 6455, section 5.5.1). */
export const REASON_BYTES = 123

/** Codes that an endpoint may send (RFC 6455, section 7.4). */
export function isCloseCode(code: unknown): code is number {
  if (typeof code !== 'number' || !Number.isInteger(code)) return false
  return (code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006)) || (code >= 3000 && code <= 4999)
}
