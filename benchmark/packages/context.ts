/** Contexts of requests without a server. */
import { RequestContext } from '../../src/context/context.ts'
import type { ContextHost } from '../../src/context/state.ts'
import { createBus } from '../../src/events/bus.ts'

const PATH = /^[^/]*\/\/[^/]*([^?]*)/

/** What contexts lean on: there are no views, files or workers. */
export function createHost(): ContextHost {
  return {
    bus: createBus(),
    maxBodyBytes: 1 << 20,
    isTrustedProxy: () => false,
    env: {},
    worker: undefined,
    render: () => Promise.reject(new Error('Cannot render: there are no views')),
    sendFile: () => Promise.reject(new Error('Cannot send a file: there are none')),
    streams: new Set(),
    streamFailed: () => {},
    sockets: new Set(),
  }
}

/** The context of a request. */
export function toContext(host: ContextHost, request: Request): RequestContext {
  const { url } = request
  return new RequestContext(host, request, undefined, request.method, url, PATH.exec(url)![1])
}
