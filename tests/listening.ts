/** A server of the tests: on a free port, until it is closed. */
import type { ListenAddress, ServeOptions } from '@mayfly/mayfly'

/** Anything that serves until a signal: a router's `serve`. */
type Serve = (options: ServeOptions) => Promise<void>

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  readonly address: ListenAddress
  /** `http://127.0.0.1:port`. */
  readonly origin: string
  /** Stops it, and waits for its end. */
  close(): Promise<void>
}

/** Starts `serve` on a free port of 127.0.0.1, or as `more` says. Throws what `serve` throws before it listens. */
export async function listen(serve: Serve, more: ServeOptions = {}): Promise<Listening> {
  const stop = new AbortController()
  const { promise, resolve } = Promise.withResolvers<ListenAddress>()
  const place = more.path === undefined ? { port: 0, hostname: '127.0.0.1' } : {}
  const served = serve({ ...place, ...more, signal: stop.signal, onListen: resolve })
  const address = await Promise.race([promise, served.then(neverListened)])
  const close = async () => {
    stop.abort()
    await served
  }
  return { address, origin: `http://127.0.0.1:${address.port}`, close, [Symbol.asyncDispose]: close }
}

function neverListened(): never {
  throw new Error('Cannot start the server: serve ended before it listened')
}
