/** A second server beside the site, on a loopback address: the one that the isolated page of `/reach` may ask. */
import type { OutboundList } from '@mayfly/mayfly/reach'

/** A server that listens until it is disposed. */
export interface Neighbour extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string
  /** What lets isolated routes ask this server, and nobody else. */
  readonly outbound: OutboundList
}

/** Starts it on a free port. `GET /time` wants a key that only the host knows, and answers `{ time, asked }`. */
export function openNeighbour(): Neighbour {
  const authorization = `Bearer ${crypto.randomUUID()}`
  let asked = 0
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen() {} }, ({ url, method, headers }) => {
    if (method !== 'GET' || new URL(url).pathname !== '/time') {
      return new Response('Not here', { status: 404 })
    }
    if (headers.get('authorization') !== authorization) return new Response('Who asks?', { status: 401 })
    return Response.json({ time: new Date().toISOString(), asked: ++asked })
  })
  const origin = `http://127.0.0.1:${server.addr.port}`
  return {
    origin,
    outbound: {
      allow: [{ host: origin, methods: ['GET'] }],
      headers: { [origin]: { authorization } },
      subRequests: 4,
      responseBytes: 64 << 10,
      idleMs: 2000,
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  }
}
