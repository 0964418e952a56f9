/** Handshakes of WebSockets: `Deno.upgradeWebSocket`, and `WebSocketPair` as Workers have it. */
import { GuestSocket } from '../../../reach/guest/socket.ts'
import { NativeResponse } from './response.ts'

/** The response that makes a request a WebSocket. */
export class UpgradeResponse extends NativeResponse {
  readonly socket: GuestSocket

  constructor(socket: GuestSocket) {
    super(null)
    this.socket = socket
  }

  override get status(): number {
    return 101
  }

  override get ok(): boolean {
    return false
  }
}

/** What a program in Workers gives to a response; the other end is its own. */
class ClientEnd {
  readonly socket: GuestSocket

  constructor(socket: GuestSocket) {
    this.socket = socket
  }
}

/** The response that `init` asks for by a `webSocket`; null for any other. */
export function toUpgrade(init: unknown): UpgradeResponse | null {
  if (typeof init !== 'object' || init === null) return null
  const { webSocket } = init as { webSocket?: unknown }
  return webSocket instanceof ClientEnd ? new UpgradeResponse(webSocket.socket) : null
}

/** Answers a handshake, as in Deno. Throws `TypeError` for a request that is none. The host pings: `idleTimeout` is its own. */
function upgradeWebSocket(
  request: Request,
  { protocol = '' }: { readonly protocol?: string } = {},
): { readonly socket: GuestSocket; readonly response: Response } {
  if (!listOf(request, 'upgrade').some((name) => name.toLowerCase() === 'websocket')) {
    throw new TypeError("Invalid Header: 'upgrade' header must contain 'websocket'")
  }
  if (protocol !== '' && !listOf(request, 'sec-websocket-protocol').includes(protocol)) {
    throw new TypeError(`Protocol '${protocol}' not in the request's protocol list (non negotiable)`)
  }
  const socket = new GuestSocket(request.url, protocol)
  return { socket, response: new UpgradeResponse(socket) }
}

function listOf({ headers }: Request, name: string): readonly string[] {
  return headers.get(name)?.split(',').map((item) => item.trim()) ?? []
}

/** Puts both into the program's world. */
export function installUpgrade(): void {
  const { Deno } = globalThis as unknown as { Deno?: object }
  if (Deno !== undefined) define(Deno, 'upgradeWebSocket', upgradeWebSocket, true)
  function WebSocketPair(): object {
    const socket = new GuestSocket('', '')
    return { 0: new ClientEnd(socket), 1: socket }
  }
  define(globalThis, 'WebSocketPair', WebSocketPair, false)
}

function define(target: object, name: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable, configurable: true })
}
