import { RequestContext } from '../../src/context/context.ts'
import { createBus } from '../../src/events/bus.ts'

/** The context of a request to `http://localhost`, without a router. */
export function createContext(path: string, init?: RequestInit): RequestContext {
  const url = `http://localhost${path}`
  const request = new Request(url, init)
  const host = {
    bus: createBus(),
    maxBodyBytes: 1 << 20,
    isTrustedProxy: () => false,
    env: {},
    worker: undefined,
    render: () => new Response(),
    sendFile: () => Promise.reject(new Error('no files')),
    streams: new Set<() => void>(),
    streamFailed: () => {},
    sockets: new Set<WebSocket>(),
  }
  return new RequestContext(host, request, undefined, request.method, url, '/')
}
