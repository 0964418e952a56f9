/** Where and how to listen: the arguments of `router.serve` made into those of `Deno.serve`. */
import { StartupError } from '../errors/startup_error.ts'

/** Options of `router.serve`. */
export interface ServeOptions {
  /** Default: PORT of the environment, then 8000. 0 takes a free one. */
  port?: number | undefined
  /** Default 0.0.0.0; in development 127.0.0.1, which only this machine reaches. */
  hostname?: string | undefined
  /** Shuts the server down when it is aborted. */
  signal?: AbortSignal | undefined
  /** Certificate chain in PEM; with `key` it turns on TLS and HTTP/2. */
  cert?: string | undefined
  /** Private key in PEM. */
  key?: string | undefined
  /** Listens on a Unix socket instead of a port. */
  path?: string | undefined
  /** Called once the server listens, instead of the line on stdout. */
  onListen?: ((address: ListenAddress) => void) | undefined
}

/** Where a server listens. `port` is 0 and `hostname` '' on a Unix socket. */
export interface ListenAddress {
  readonly hostname: string
  readonly port: number
  readonly path?: string
}

/** The options with the port settled. Throws `TypeError`, `RangeError` or `StartupError` (a bad PORT). */
export function resolveServe(given: number | ServeOptions | undefined): ServeOptions {
  const options = typeof given === 'number' ? { port: given } : { ...given }
  if (options.path !== undefined) {
    if (options.port !== undefined || options.hostname !== undefined) {
      throw new TypeError('Cannot serve: path and port are both given, want one of them')
    }
    return options
  }
  options.port ??= portOfEnvironment() ?? 8000
  if (!isPort(options.port)) {
    throw new RangeError(
      `Cannot serve: port is ${Deno.inspect(options.port)}, want an integer from 0 to 65535`,
    )
  }
  for (const name of ['cert', 'key'] as const) {
    const other = name === 'cert' ? options.key : options.cert
    if (options[name] === undefined && other !== undefined) {
      throw new TypeError(`Cannot serve with TLS: ${name} is missing, want cert and key in PEM`)
    }
    if (options[name] !== undefined && !options[name].includes('-----BEGIN')) {
      throw new TypeError(`Cannot serve with TLS: ${name} is no PEM text, want the content of a .pem file`)
    }
  }
  return options
}

/** Starts the server; the promise of a refused address becomes a `StartupError` that says what to do. */
export function listen(
  options: ServeOptions,
  handler: (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>,
  bodyFailed: (error: unknown) => void,
): { server: Deno.HttpServer; address: ListenAddress } {
  const common = { handler, onListen: () => {}, onError: toOnError(bodyFailed) }
  try {
    if (options.path !== undefined) {
      const server = Deno.serve({ ...common, path: options.path })
      return { server, address: { hostname: '', port: 0, path: options.path } }
    }
    const place = { port: options.port!, hostname: options.hostname ?? '0.0.0.0' }
    const server = options.cert === undefined
      ? Deno.serve({ ...common, ...place })
      : Deno.serve({ ...common, ...place, cert: options.cert, key: options.key! })
    const { hostname, port } = server.addr as Deno.NetAddr
    return { server, address: { hostname, port } }
  } catch (error) {
    throw toStartupError(error, options)
  }
}

/** The handler never throws, so what comes here broke a response's body after its headers were sent. */
function toOnError(bodyFailed: (error: unknown) => void): (error: unknown) => Response {
  return (error) => {
    bodyFailed(error)
    return new Response(null, { status: 500 })
  }
}

function toStartupError(error: unknown, options: ServeOptions): unknown {
  const place = options.path ?? `${options.hostname ?? '0.0.0.0'}:${options.port}`
  if (error instanceof Deno.errors.AddrInUse) {
    return new StartupError(
      `Cannot listen on ${place}: it is in use, want a free one (set PORT, or pass another to serve)`,
    )
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return new StartupError(
      `Cannot listen on ${place}: permission denied, want a port from 1024 on or more rights`,
    )
  }
  if (error instanceof Deno.errors.NotCapable) {
    return new StartupError(`Cannot listen on ${place}: ${error.message}`)
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return new StartupError(`Cannot listen on ${place}: no such address on this machine, want one of its own`)
  }
  return error
}

function portOfEnvironment(): number | undefined {
  const { state } = Deno.permissions.querySync({ name: 'env', variable: 'PORT' })
  const text = state === 'granted' ? Deno.env.get('PORT') : undefined
  if (text === undefined || text === '') return undefined
  if (!/^\d+$/.test(text) || !isPort(Number(text))) {
    throw new StartupError(`Cannot serve: PORT is ${JSON.stringify(text)}, want an integer from 0 to 65535`)
  }
  return Number(text)
}

function isPort(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65535
}
