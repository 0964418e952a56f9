import { deadline } from '@std/async'

/** What a shutdown needs to know. Times are in milliseconds. */
export interface Drain {
  readonly server: Deno.HttpServer
  readonly sockets: ReadonlySet<WebSocket>
  readonly drainMs: number
  /** Ends what is still pending when the time is over: requests get an answer, streams break. */
  readonly cut: () => void
}

/** How long the answers of cut requests may take to leave. */
const CUT_MS = 1000

/**
 * Stops accepting, closes WebSockets with 1001 (going away, RFC 6455), lets accepted requests end for `drainMs`, then
 * cuts what is left. True when nothing had to be cut. A body that even then does not end, such as a stream of the
 * application's own making, is given up: it no longer keeps the process alive.
 */
export async function drain({ server, sockets, drainMs, cut }: Drain): Promise<boolean> {
  for (const socket of sockets) socket.close(1001, 'The server is shutting down')
  const ended = server.shutdown()
  if (await endsWithin(ended, drainMs)) return true
  cut()
  if (!await endsWithin(ended, CUT_MS)) server.unref()
  return false
}

async function endsWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  try {
    await deadline(promise, ms)
    return true
  } catch (error) {
    if (error instanceof DOMException) return false
    throw error
  }
}
