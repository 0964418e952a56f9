/** Origins (RFC 6454): as a client wrote one, and the one that it addressed. */
import { stateOf } from './internals.ts'
import { clientAddresses } from './ip.ts'
import type { RequestState } from './state.ts'
import type { Context } from './types.ts'

/**
 * The origin that the client addressed. Behind a trusted proxy the scheme and host are those of X-Forwarded-Proto and
 * X-Forwarded-Host. Undefined when they make no origin.
 */
export function ownOrigin(ctx: Context | RequestState): string | undefined {
  const state = stateOf(ctx)
  const { host, peer, request } = state
  const url = URL.parse(request.url)
  if (url === null) return undefined
  if (peer === undefined || !host.isTrustedProxy(clientAddresses(state).peer ?? '', 0)) return url.origin
  const forwardedProto = last(request.headers.get('x-forwarded-proto'))
  const forwardedHost = last(request.headers.get('x-forwarded-host'))
  if (forwardedProto === undefined && forwardedHost === undefined) return url.origin
  return toOrigin(`${forwardedProto ?? url.protocol.slice(0, -1)}://${forwardedHost ?? url.host}`)
}

/** The origin as browsers write it; undefined when `text` is not an http(s) origin, with or without a slash at its end. */
export function toOrigin(text: string): string | undefined {
  // A star in a host would parse, and match nothing.
  const url = text.includes('*') ? null : URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  return url.href === `${url.origin}/` ? url.origin : undefined
}

// A proxy appends to a list; its own word, the nearest one, comes last.
function last(list: string | null): string | undefined {
  return list?.split(',').at(-1)?.trim()
}
