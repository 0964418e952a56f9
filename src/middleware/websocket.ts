import { emitEvent, trackSocket, wantsEvent } from '../context/internals.ts'
import type { Awaitable, Context, Next } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, integer, type OptionRules } from '../options/rule.ts'
import { tokens } from './token.ts'
import { originsRule, toOriginSet } from '../reach/streams/allowed_origins.ts'
import {
  chooseProtocol,
  findHandshakeFault,
  type HandshakeFault,
  isOriginAllowed,
} from '../context/websocket_handshake.ts'

/** A callback of {@linkcode websocket}. What it throws goes to `onError`, and the socket is closed with 1011. */
export type SocketCallback<E extends Event = Event> = (
  socket: WebSocket,
  event: E,
  ctx: Context,
) => Awaitable<void>

/** Options of {@linkcode websocket}. */
export interface WebSocketOptions {
  /** The socket is open. */
  readonly onConnect?: SocketCallback | undefined
  /** A message came: `event.data` is text or an ArrayBuffer. */
  readonly onMessage?: SocketCallback<MessageEvent<string | ArrayBuffer>> | undefined
  /** The socket is closed: `event.code` and `event.reason` say why. */
  readonly onDisconnect?: SocketCallback<CloseEvent> | undefined
  /** The connection failed, or a callback threw: then the event is an `ErrorEvent` with the error. */
  readonly onError?: SocketCallback<Event | ErrorEvent> | undefined
  /** Origins whose pages may connect, or `*`. Default: the own origin, and clients that are no browser. */
  readonly allowedOrigins?: '*' | string | readonly string[] | undefined
  /** Subprotocols that are spoken; of those that a client asks for, its first one is taken. Default none. */
  readonly protocols?: readonly string[] | undefined
  /** Largest message in bytes; a larger one closes the socket with 1009. Default 1 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Milliseconds of silence after which the client is pinged and, without an answer, dropped. 0: never. Default 30 000. */
  readonly idleTimeoutMs?: number | undefined
  /** As `router.use(websocket(...))` without a path: the path to answer, and what is below it. Others pass. */
  readonly listener?: string | undefined
}

const RULES: OptionRules<WebSocketOptions> = {
  onConnect: callback(),
  onMessage: callback(),
  onDisconnect: callback(),
  onError: callback(),
  allowedOrigins: originsRule({ star: true }),
  protocols: tokens('subprotocol names'),
  maxMessageBytes: integer(1),
  idleTimeoutMs: integer(0),
  listener: {
    wanted: 'a path that begins with "/"',
    check: (value) => typeof value === 'string' && value.startsWith('/') ? undefined : TypeError,
  },
}

/**
 * Answers WebSocket handshakes (RFC 6455), as middleware on a path or as a route's `GET`. 426 without an upgrade, 403 from
 * a page of another origin, 400 for a malformed handshake; each emits `websocket:rejected`. At shutdown sockets are
 * closed with 1001. Needs a real server: `router.fetch` alone cannot upgrade.
 */
export function websocket(
  options: WebSocketOptions = {},
): (ctx: Context, next?: Next) => Awaitable<Response> {
  checkFactoryOptions(websocket, options, RULES)
  const { allowedOrigins, protocols = [], idleTimeoutMs = 30_000, listener } = options
  const origins = allowedOrigins === undefined ? undefined : toOriginSet(allowedOrigins)
  const base = listener?.replace(/\/+$/, '')
  return function websocket(ctx, next) {
    if (base !== undefined && next !== undefined && !isBelow(ctx.get.pathname(), base)) return next()
    const fault = findHandshakeFault(ctx.get.request())
    if (fault !== undefined) return reject(ctx, fault)
    if (!isOriginAllowed(ctx, origins)) {
      return reject(ctx, { status: 403, reason: 'origin', message: 'This origin may not connect' })
    }
    const protocol = protocols.length === 0
      ? undefined
      : chooseProtocol(ctx.get.header('sec-websocket-protocol'), protocols)
    if (protocol === null) {
      return reject(ctx, {
        status: 400,
        reason: 'protocol',
        message: 'None of these subprotocols is spoken here',
      })
    }
    const { socket, response } = Deno.upgradeWebSocket(ctx.get.request(), {
      ...(protocol === undefined ? {} : { protocol }),
      idleTimeout: Math.ceil(idleTimeoutMs / 1000),
    })
    listen(ctx, socket, options)
    trackSocket(ctx, socket)
    return response
  }
}

function reject(ctx: Context, { status, reason, message, headers }: HandshakeFault): never {
  if (wantsEvent(ctx, 'websocket:rejected')) {
    emitEvent(ctx, 'websocket:rejected', { reason, status, origin: ctx.get.header('origin') })
  }
  throw new HttpError(status, message, { headers })
}

function listen(ctx: Context, socket: WebSocket, options: WebSocketOptions): void {
  const { onConnect, onMessage, onDisconnect, onError, maxMessageBytes = 1 << 20 } = options
  socket.binaryType = 'arraybuffer'

  const fail = async (error: unknown, silent: boolean): Promise<void> => {
    if (socket.readyState === WebSocket.OPEN) socket.close(1011, 'Internal error')
    try {
      if (onError === undefined || silent) throw error
      await onError(socket, new ErrorEvent('error', { error, message: String(error), cancelable: true }), ctx)
    } catch (last) {
      console.error(`mayfly: a callback of the WebSocket at ${ctx.get.pathname()} failed\n`, last)
    }
  }
  const call = async <E extends Event>(run: SocketCallback<E> | undefined, event: E): Promise<void> => {
    try {
      await run?.(socket, event, ctx)
    } catch (error) {
      await fail(error, run === onError)
    }
  }

  socket.addEventListener('open', (event) => call(onConnect, event))
  socket.addEventListener('close', (event) => call(onDisconnect, event))
  socket.addEventListener('error', (event) => {
    event.preventDefault()
    return call(onError, event)
  })
  socket.addEventListener('message', (event) => {
    if (isLarger(event.data, maxMessageBytes)) {
      if (socket.readyState === WebSocket.OPEN) socket.close(1009, `Over ${maxMessageBytes} bytes`)
      return
    }
    return call(onMessage, event)
  })
}

function isLarger(data: string | ArrayBuffer, most: number): boolean {
  if (typeof data !== 'string') return data.byteLength > most
  // A UTF-16 unit takes one to three bytes of UTF-8.
  if (data.length > most) return true
  return data.length * 3 > most && new TextEncoder().encode(data).length > most
}

function isBelow(pathname: string, base: string): boolean {
  return pathname === base || pathname.startsWith(`${base}/`)
}
