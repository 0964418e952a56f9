import { resolve } from '@std/path'
import { stopEsbuild } from '../compiler/esbuild.ts'
import type { RequestState } from '../context/state.ts'
import { toLogText } from '../errors/log_text.ts'
import { StartupError } from '../errors/startup_error.ts'
import type { TemplateError } from '../dve/mod.ts'
import { createBus, emit, wants } from '../events/bus.ts'
import { RouteNamesError } from '../router/load/classify.ts'
import { findProject } from '../isolate/resolve/project.ts'
import { loadRoutes, type RouteTable } from '../router/load/load.ts'
import { RouteLoadError } from '../router/load/load_error.ts'
import type { RouteNotice } from '../router/load/notice.ts'
import { serveFile } from '../static/serve_file.ts'
import type { App } from './app.ts'
import { createDeadlines } from './deadlines.ts'
import { isDevelopment } from './environment.ts'
import { placeErrors } from './error_places.ts'
import {
  closeLiveReload,
  createLiveReload,
  type LiveReload,
  noteChange,
  publish,
} from './development/live_reload.ts'
import { createFaultLog, flushFaults, logFault, logNews } from './fault_log.ts'
import {
  closeIsolated,
  newIsolatedRoutes,
  openReadings,
  openRecorder,
  setIsolatedTable,
  startIsolated,
} from './isolated/mod.ts'
import type { ResolvedOptions } from './options.ts'
import { openPlainJsx } from './plain_jsx.ts'
import { LazyRequestMetadata } from './request_metadata.ts'
import { closeSandbox } from './router_sandbox.ts'
import { createTenants, openTenants } from './tenants.ts'
import { noRoutes, toRoutes } from './routes.ts'
import { toTrustedProxy } from './trust_proxy.ts'
import { createEngine, followViews, refreshViews, renderView } from './views.ts'

/** An app that has read nothing yet. */
export function createApp(options: ResolvedOptions): App {
  const bus = createBus()
  const app: App = {
    options,
    tenants: options.tenants === null ? null : createTenants(options.tenants, () => app),
    bus,
    observed: false,
    host: {
      bus,
      maxBodyBytes: options.maxBodyBytes,
      isTrustedProxy: toTrustedProxy(options.trustProxy),
      env: options.isolate === false ? {} : options.isolate?.bindings ?? {},
      worker: undefined,
      render: (state, name, data, renderOptions) => renderView(app, state, name, data, renderOptions),
      sendFile: (state, path, init) => serveFile(state.request, path, init),
      streams: new Set(),
      streamFailed: (state, error) => reportBrokenStream(app, state, error),
      sockets: new Set(),
    },
    middleware: [],
    statics: [],
    errorHook: undefined,
    deadlines: createDeadlines(options.requestTimeoutMs),
    engine: createEngine(options),
    development: false,
    project: null,
    serving: false,
    closing: false,
    told: new WeakSet(),
    faults: createFaultLog(),
    routesFault: undefined,
    skipped: new Map(),
    routes: noRoutes(),
    pool: undefined,
    isolated: newIsolatedRoutes(options),
    getReady: () => prepareApp(app, false),
    sandbox: null,
    plainJsx: null,
    hotReload: undefined,
    liveReload: null,
  }
  bus.onChange = () => {
    app.observed = wants(bus, 'request:complete') || wants(bus, 'request:error')
    if (app.engine !== undefined) followViews(bus, app.engine)
  }
  return app
}

/**
 * Reads the routes; with `watch` they and the views are read again as files change, when the options or the
 * environment (DENO_ENV) ask for it. Rejects with `StartupError` when they cannot be served.
 */
export async function prepareApp(app: App, watch: boolean): Promise<void> {
  const { routesDir, viewsDir, hotReload } = app.options
  app.development = isDevelopment()
  app.project = null
  app.closing = false
  openRecorder(app)
  await openPool(app, watch)
  const onNotice = (notice: RouteNotice) => notify(app, notice)
  try {
    if (viewsDir !== undefined) await checkFolder('viewsDir', viewsDir)
    if (app.development) app.project = await findProject(routesDir)
    app.plainJsx ??= await openPlainJsx(routesDir)
    await openTenants(app, watch)
    const viewDirs = viewsDir === undefined ? [] : [viewsDir]
    if (!watch || !(hotReload ?? app.development)) {
      const readings = await openReadings(app)
      swapRoutes(app, await loadRoutes({ routesDir, onNotice, readings }))
      if (watch) startIsolated(app)
      return
    }
    const live = app.liveReload = app.development ? createLiveReload() : null
    const { startHotReload } = await import('../router/reload/watch.ts')
    app.hotReload = await startHotReload({
      routesDir,
      viewDirs: live === null ? viewDirs : [...viewDirs, ...staticDirs(app)],
      onNotice,
      onTable: (table) => {
        swapRoutes(app, table)
        if (live !== null) publishLater(app, live)
      },
      onViewChange: (paths) => {
        const errors = refreshViews(app, paths)
        if (live !== null) publishViews(app, live, paths, errors)
      },
    })
    swapRoutes(app, app.hotReload.table)
    startIsolated(app)
  } catch (error) {
    throw toStartupError(error)
  }
}

function swapRoutes(app: App, table: RouteTable): void {
  app.routesFault = undefined
  app.routes = toRoutes(app, table)
  setIsolatedTable(app, table)
}

/** Notifies pages of new routes once isolated ones run too; notices of the same load come before that. */
function publishLater(app: App, live: LiveReload): void {
  live.faults.delete(WHOLE_FOLDER)
  noteChange(live)
  startIsolated(app).then(() => publish(live))
}

function publishViews(
  app: App,
  live: LiveReload,
  paths: readonly string[],
  errors: readonly TemplateError[],
): void {
  for (const path of paths) live.faults.delete(path)
  for (const error of errors) live.faults.set(resolve(error.file), toLogText(error, app.project).line)
  if (errors.length === 0) noteChange(live)
  publish(live)
}

/** The folders whose files are sent as they are, where they do not depend on the request. */
function staticDirs({ statics }: App): string[] {
  return statics.map(({ rules }) => rules.dir).filter((dir) => typeof dir === 'string')
}

/** Ends what the app holds beside its server. */
export async function closeApp(app: App): Promise<void> {
  for (const cut of [...app.host.streams]) cut()
  if (app.hotReload !== undefined) {
    const { stopHotReload } = await import('../router/reload/watch.ts')
    await stopHotReload(app.hotReload)
  }
  app.hotReload = undefined
  if (app.liveReload !== null) closeLiveReload(app.liveReload)
  app.liveReload = null
  flushFaults(app.faults)
  app.plainJsx?.close()
  app.plainJsx = null
  await app.tenants?.close()
  await closeSandbox(app)
  await closeIsolated(app)
  await stopEsbuild()
  app.pool?.close()
  app.pool = app.host.worker = undefined
}

/** Makes the worker pool; its threads start at once for a server, else with the first task. */
async function openPool(app: App, start: boolean): Promise<void> {
  const { worker } = app.options
  if (worker === undefined) return
  const { createPool } = await import('../worker/pool.ts')
  if (app.pool === undefined) {
    app.pool = app.host.worker = createPool(worker, {
      timeout: (incident) => emit(app.bus, 'worker:timeout', incident),
      crash: (incident) => emit(app.bus, 'worker:crash', incident),
      respawn: (incident) => emit(app.bus, 'worker:respawn', incident),
      rejected: (incident) => emit(app.bus, 'worker:rejected', incident),
    })
  }
  if (start) app.pool.start()
}

async function checkFolder(option: string, folder: string): Promise<void> {
  const info = await Deno.stat(folder).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined
    throw error
  })
  if (info?.isDirectory) return
  const what = info === undefined ? 'does not exist' : 'is a file'
  throw new StartupError(
    `Cannot read ${option}: '${folder}' ${what}, want a folder: create it or set ${option}`,
  )
}

function toStartupError(error: unknown): unknown {
  const expected = error instanceof RouteNamesError || error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.NotADirectory
  if (error instanceof Deno.errors.NotCapable) return new StartupError(`Cannot start: ${error.message}`)
  return expected ? new StartupError(error.message) : error
}

/** Makes an event of what the router room reports; errors that no listener hears go to stderr. */
export function notify(app: App, notice: RouteNotice): void {
  const { kind, file, reason = '', error } = notice
  const pattern = notice.pattern === '' ? undefined : notice.pattern
  if (notice.reasons === undefined) app.skipped.delete(file)
  else app.skipped.set(file, { pattern: notice.pattern, reasons: notice.reasons })
  followFaults(app, notice)
  if (kind === 'route:error' || kind === 'reload:error') {
    if (wants(app.bus, kind)) emit(app.bus, kind, { file, pattern, error })
    else tellLoadError(app, error)
  } else if (kind === 'route:skipped') {
    if (wants(app.bus, kind)) emit(app.bus, kind, { file, pattern, reason })
    else console.error(`mayfly: ${file}: ${reason}`)
  } else {
    emit(app.bus, kind, { file, pattern })
  }
}

/** Keeps the errors of files that broke after they had worked, for pages. */
function followFaults({ liveReload, project }: App, { kind, file, error }: RouteNotice): void {
  if (liveReload === null) return
  if (kind !== 'reload:error') return void liveReload.faults.delete(file)
  placeErrors(error)
  const key = error instanceof RouteLoadError ? file : WHOLE_FOLDER
  liveReload.faults.set(key, toLogText(error, project).line)
  publish(liveReload)
}

/** Stands among files with faults for the folder of routes as a whole. */
const WHOLE_FOLDER = ''

/** Reports why files do not load. The error of the folder as a whole is the same at each save, so it is reported once until the folder loads again. */
function tellLoadError(app: App, error: Error | undefined): void {
  placeErrors(error)
  if (error instanceof RouteLoadError) return logNews(app.faults, error, app.project)
  if (app.routesFault === error?.message) return
  app.routesFault = error?.message
  console.error(`mayfly: ${error?.message}`)
}

/** Reports a broken body that the application made; `ctx.send` has reported its own. */
export function reportBrokenBody(app: App, error: unknown): void {
  if (typeof error === 'object' && error !== null && app.told.has(error)) return
  logFault(app.faults, 'the body of a response broke', error, app.project)
}

/** A response whose headers are out can only break off; what broke it must not get lost. */
function reportBrokenStream(app: App, state: RequestState, error: unknown): void {
  state.error = error
  if (typeof error === 'object' && error !== null) app.told.add(error)
  if (!wants(app.bus, 'request:error')) {
    logFault(app.faults, `the stream of ${state.method} ${state.pathname} broke`, error, app.project)
    return
  }
  const sent = new Response(null, { status: 200 })
  const metadata = new LazyRequestMetadata(state, sent, performance.now(), app.options.eventQuery)
  emit(app.bus, 'request:error', metadata)
}
