/** Handshakes of WebSockets, as a client asks for one. */
import { decodeBase64 } from '@std/encoding/base64'
import { ownOrigin } from './own_origin.ts'
import { stateOf } from './internals.ts'
import type { RequestState } from './state.ts'
import type { Context } from './types.ts'

/** Why a request is no handshake that may be answered. */
export interface HandshakeFault {
  readonly status: number
  readonly reason: 'method' | 'no upgrade' | 'version' | 'key' | 'origin' | 'protocol'
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const UPGRADE = { upgrade: 'websocket', connection: 'Upgrade' }

/** Checks a handshake's form by RFC 6455, section 4.2.1; undefined when it is fine. */
export function findHandshakeFault(
  { method, headers }: Pick<Request, 'method' | 'headers'>,
): HandshakeFault | undefined {
  if (method !== 'GET') {
    return {
      status: 405,
      reason: 'method',
      message: 'A WebSocket begins with GET',
      headers: { allow: 'GET' },
    }
  }
  if (!hasItem(headers.get('upgrade'), 'websocket') || !hasItem(headers.get('connection'), 'upgrade')) {
    return {
      status: 426,
      reason: 'no upgrade',
      message: 'This is a WebSocket: connect by ws',
      headers: UPGRADE,
    }
  }
  if (headers.get('sec-websocket-version') !== '13') {
    return {
      status: 426,
      reason: 'version',
      message: 'Only WebSocket version 13 is spoken here',
      headers: { ...UPGRADE, 'sec-websocket-version': '13' },
    }
  }
  if (!isKey(headers.get('sec-websocket-key'))) {
    return { status: 400, reason: 'key', message: 'Sec-WebSocket-Key must be 16 bytes in base64' }
  }
  return undefined
}

/**
 * Which pages may connect: with undefined those of the own origin, with a set its members, or all when it has `*`. A request without
 * Origin comes from no page; only a set without `*` refuses it.
 */
export function isOriginAllowed(
  ctx: Context | RequestState,
  allowed: ReadonlySet<string> | undefined,
): boolean {
  if (allowed?.has('*')) return true
  const origin = stateOf(ctx).request.headers.get('origin')
  if (allowed !== undefined) return origin !== null && allowed.has(origin)
  return origin === null || origin === ownOrigin(ctx)
}

/** The first of the client's subprotocols that the server speaks; null when it asks for none of them. */
export function chooseProtocol(
  header: string | undefined,
  spoken: readonly string[],
): string | null | undefined {
  if (header === undefined) return undefined
  const asked = header.split(',').map((name) => name.trim())
  return asked.find((name) => spoken.includes(name)) ?? null
}

function hasItem(header: string | null, wanted: string): boolean {
  return header !== null && header.toLowerCase().split(',').some((item) => item.trim() === wanted)
}

function isKey(key: string | null): boolean {
  if (key === null || key.length !== 24) return false
  try {
    return decodeBase64(key).length === 16
  } catch {
    return false
  }
}
