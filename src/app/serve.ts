import { emit, wants } from '../events/bus.ts'
import { drain } from '../server/drain.ts'
import { listen, resolveServe, type ServeOptions } from '../server/listen.ts'
import { watchProcessErrors } from '../server/process_errors.ts'
import { watchSignals } from '../server/signals.ts'
import type { App } from './app.ts'
import { expireAll, hasUploads } from './deadlines.ts'
import { closeLiveReload } from './development/live_reload.ts'
import { logFault } from './fault_log.ts'
import { closeApp, prepareApp, reportBrokenBody } from './lifecycle.ts'
import { handle } from './pipeline.ts'

/** Serves an app until a signal stops it; resolves when drained, with everything it holds released. */
export async function serveApp(app: App, given: number | ServeOptions | undefined): Promise<void> {
  const options = resolveServe(given)
  if (app.serving) {
    throw new TypeError('Cannot serve: this router serves already, want another Router for another address')
  }
  if (options.signal?.aborted) return
  app.serving = true
  const stopped = Promise.withResolvers<string>()
  const release: (() => void)[] = []
  try {
    await prepareApp(app, true)
    const { server, address } = listen(
      toPlace(options, app.development),
      (request, info) => handle(app, request, info),
      (error) => reportBrokenBody(app, error),
    )
    release.push(watchSignals(stopped.resolve))
    release.push(watchProcessErrors((origin, error) => {
      logFault(app.faults, origin, error, app.project)
      if (wants(app.bus, 'process:error')) emit(app.bus, 'process:error', { origin, error })
    }))
    const onAbort = () => stopped.resolve('signal')
    options.signal?.addEventListener('abort', onAbort, { once: true })
    release.push(() => options.signal?.removeEventListener('abort', onAbort))
    server.finished.then(() => stopped.resolve('closed'))
    emit(app.bus, 'server:listening', address)
    if (options.onListen === undefined) console.log(toBanner(options, address))
    else options.onListen(address)
    const reason = await stopped.promise
    const { hostname, port } = address
    emit(app.bus, 'server:shutdown', { hostname, port, reason })
    if (app.liveReload !== null) closeLiveReload(app.liveReload)
    const clean = await drain({
      server,
      isUploading: () => hasUploads(app.deadlines),
      sockets: app.host.sockets,
      drainMs: app.options.drainMs,
      cut: () => {
        app.closing = true
        expireAll(app.deadlines)
        for (const cut of [...app.host.streams]) cut()
      },
    })
    if (!clean && reason.startsWith('SIG')) exitSoon()
  } finally {
    for (const end of release) end()
    await closeApp(app)
    app.serving = false
  }
}

/** In development nobody but this machine is to reach the server, whose pages show sources; unless that was asked for. */
function toPlace(options: ServeOptions, development: boolean): ServeOptions {
  if (!development || options.hostname !== undefined || options.path !== undefined) return options
  return { ...options, hostname: '127.0.0.1' }
}

/** How long the code after `serve` has, when a connection that nobody can close would keep the process alive. */
const EXIT_MS = 2000

/**
 * Ends a process that a signal asked to end and that only a stuck connection keeps alive, such as one whose client never
 * finishes its upload: Deno has no way to close it. A process that ends by itself is not kept for this.
 */
function exitSoon(): void {
  Deno.unrefTimer(setTimeout(() => Deno.exit(0), EXIT_MS))
}

function toBanner(
  options: ServeOptions,
  { hostname, port, path }: { hostname: string; port: number; path?: string },
) {
  if (path !== undefined) return `mayfly: listening on ${path}`
  const scheme = options.cert === undefined ? 'http' : 'https'
  const host = hostname === '0.0.0.0' || hostname === '::' || hostname === '127.0.0.1'
    ? 'localhost'
    : hostname.includes(':')
    ? `[${hostname}]`
    : hostname
  return `mayfly: listening on ${scheme}://${host}:${port}/`
}
