import type { Context } from '../context/types.ts'
import { decodeBase64 } from '@std/encoding/base64'
import { ownOrigin } from './origin.ts'

/** Why a request is no handshake that may be answered. */
export interface HandshakeFault {
  readonly status: number
  readonly reason: 'method' | 'no upgrade' | 'version' | 'key' | 'origin' | 'protocol'
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const UPGRADE = { upgrade: 'websocket', connection: 'Upgrade' }

/** Checks a handshake's form by RFC 6455, section 4.2.1; undefined when it is fine. */
export function findHandshakeFault(ctx: Context): HandshakeFault | undefined {
  if (ctx.get.method() !== 'GET') {
    return {
      status: 405,
      reason: 'method',
      message: 'A WebSocket begins with GET',
      headers: { allow: 'GET' },
    }
  }
  if (!hasItem(ctx.get.header('upgrade'), 'websocket') || !hasItem(ctx.get.header('connection'), 'upgrade')) {
    return {
      status: 426,
      reason: 'no upgrade',
      message: 'This is a WebSocket: connect by ws',
      headers: UPGRADE,
    }
  }
  if (ctx.get.header('sec-websocket-version') !== '13') {
    const headers = { ...UPGRADE, 'sec-websocket-version': '13' }
    return { status: 426, reason: 'version', message: 'Only WebSocket version 13 is spoken here', headers }
  }
  if (!isKey(ctx.get.header('sec-websocket-key'))) {
    return { status: 400, reason: 'key', message: 'Sec-WebSocket-Key must be 16 bytes in base64' }
  }
  return undefined
}

/**
 * Which pages may connect: with undefined those of the own origin, with a set its members, or all when it has `*`. A request without
 * Origin comes from no page; only a set without `*` refuses it.
 */
export function isOriginAllowed(ctx: Context, allowed: ReadonlySet<string> | undefined): boolean {
  if (allowed?.has('*')) return true
  const origin = ctx.get.header('origin')
  if (allowed !== undefined) return origin !== undefined && allowed.has(origin)
  return origin === undefined || origin === ownOrigin(ctx)
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

function hasItem(header: string | undefined, wanted: string): boolean {
  return header !== undefined && header.toLowerCase().split(',').some((item) => item.trim() === wanted)
}

function isKey(key: string | undefined): boolean {
  if (key === undefined || key.length !== 24) return false
  try {
    return decodeBase64(key).length === 16
  } catch {
    return false
  }
}
