import { deadline, delay } from '@std/async'

/** What a shutdown needs to know. Times are in milliseconds. */
export interface Drain {
  readonly server: Deno.HttpServer
  readonly sockets: ReadonlySet<WebSocket>
  readonly drainMs: number
  /** True while the body of a request may still be on its way. */
  readonly isUploading: () => boolean
  /** Ends what is still pending when the time is over: requests get an answer, streams break. */
  readonly cut: () => void
}

/** How long the answers of cut requests may take to leave. */
const CUT_MS = 1000
/** How often the end of the uploads is looked for. */
const UPLOAD_POLL_MS = 10

/**
 * Closes WebSockets with 1001 (going away, RFC 6455), lets uploads arrive, stops accepting, lets accepted requests end, and after
 * `drainMs` cuts what is left. True when nothing had to be cut. A body that even then does not end, such as a stream of the
 * application's own making, is given up.
 *
 * Uploads come first because `Deno.HttpServer.shutdown` breaks every request body that is still on its way; requests that come
 * meanwhile are served like any other.
 */
export async function drain({ server, sockets, drainMs, isUploading, cut }: Drain): Promise<boolean> {
  for (const socket of sockets) socket.close(1001, 'The server is shutting down')
  const end = performance.now() + drainMs
  while (isUploading() && performance.now() < end) await delay(UPLOAD_POLL_MS)
  if (isUploading()) {
    cut()
    // The answers must be on their way before their bodies break.
    await delay(UPLOAD_POLL_MS)
  }
  const ended = server.shutdown()
  if (await endsWithin(ended, Math.max(end - performance.now(), 1))) return true
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
