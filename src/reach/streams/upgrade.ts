/** Real sockets for the programs' ends of WebSockets. */
import { findHandshakeFault, type HandshakeFault } from '../../context/websocket_handshake.ts'
import type { StreamLimits } from './limits.ts'

/** Seconds after which a client is pinged that says nothing; one that does not answer is gone. */
const PING_SECONDS = 30

/** A request cannot become a WebSocket. */
export class UpgradeError extends TypeError {
  override readonly name = 'UpgradeError'
  readonly fault: HandshakeFault

  constructor(fault: HandshakeFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** A WebSocket and the response that begins it. */
export interface Upgraded {
  readonly socket: WebSocket
  readonly response: Response
}

/**
 * Upgrades a request of a server; `protocol` is the program's word, '' for none. Throws `UpgradeError` for a handshake that is none,
 * and `TypeError` for one that the server cannot upgrade. Of a request that came by no server the socket never opens. The response has the
 * handshake's headers alone.
 */
export function upgradeRequest(
  request: Request,
  protocol: string,
  { streamIdleMs }: StreamLimits,
): Upgraded {
  const fault = findHandshakeFault(request)
  if (fault !== undefined) throw new UpgradeError(fault)
  const asked = request.headers.get('sec-websocket-protocol')?.split(',').map((name) => name.trim()) ?? []
  if (protocol !== '' && !asked.includes(protocol)) {
    const message = 'The program speaks a subprotocol that the client did not ask for'
    throw new UpgradeError({ status: 400, reason: 'protocol', message })
  }
  // Pings are the host's own: they are no life of the stream.
  const idleTimeout = Math.min(PING_SECONDS, Math.ceil(streamIdleMs / 1000))
  try {
    return Deno.upgradeWebSocket(request, { idleTimeout, ...(protocol === '' ? {} : { protocol }) })
  } catch (error) {
    throw new TypeError('Cannot upgrade the request: it did not come by HTTP/1.1 to a server', {
      cause: error,
    })
  }
}
