import { respond } from '../context/send.ts'
import type { RequestState } from '../context/state.ts'
import { toByteStream } from '../context/stream.ts'
import type { RenderOptions } from '../context/types.ts'
import { Engine, type TemplateError } from '../dve/mod.ts'
import { emit, type EventBus, wants } from '../events/bus.ts'
import type { App } from './app.ts'
import { placeErrors } from './error_places.ts'
import { logNews } from './fault_log.ts'
import type { ResolvedOptions } from './options.ts'

const HTML_INIT = { headers: { 'content-type': 'text/html; charset=utf-8' } }
const VIEW_KINDS = ['view:compiled', 'view:rendered', 'view:refreshed', 'view:error'] as const

/** The engine of `viewsDir`, or undefined without one. Reads nothing. */
export function createEngine(options: ResolvedOptions): Engine | undefined {
  const { viewsDir, filters, maxIterations, maxRenderIterations, maxOutputSize, maxTemplateSize } = options
  if (viewsDir === undefined) return undefined
  const limits = { maxIterations, maxRenderIterations, maxTemplateSize }
  return new Engine({
    viewsDir,
    filters,
    ...limits,
    ...(maxOutputSize === undefined ? {} : { maxOutputSize }),
  })
}

/** Makes the engine report to the bus while the bus has listeners, and only then. */
export function followViews(bus: EventBus, engine: Engine): void {
  if (!VIEW_KINDS.some((kind) => wants(bus, kind))) return engine.setHooks(undefined)
  engine.setHooks({
    compiled: (event) => emit(bus, 'view:compiled', event),
    rendered: (event) => emit(bus, 'view:rendered', event),
    refreshed: (event) => emit(bus, 'view:refreshed', event),
    error: (event) => emit(bus, 'view:error', event),
  })
}

/** Answers `ctx.render`. Throws `TypeError` without views and `TemplateError` when the template fails. */
export function renderView(
  app: App,
  state: RequestState,
  name: string,
  data: Record<string, unknown>,
  options: RenderOptions | undefined,
): Response {
  const { engine } = app
  if (engine === undefined) {
    throw new TypeError(`Cannot render "${name}": the router has no views, want the option viewsDir`)
  }
  if (options === undefined) return respond(state, engine.renderSync(name, data), HTML_INIT, undefined)
  const { status, headers, stream } = options
  const init = { ...(status === undefined ? {} : { status }), ...(headers === undefined ? {} : { headers }) }
  if (!stream) return respond(state, engine.renderSync(name, data), HTML_INIT, init)
  const { host } = state
  const body = toByteStream(engine.stream(name, data), {
    open: host.streams,
    failed: (error) => host.streamFailed(state, error),
  })
  return respond(state, body, HTML_INIT, init)
}

/** Compiles again what changed below the views folder, and gives the faults; a template that broke keeps its last good version. */
export function refreshViews(app: App, paths: readonly string[]): TemplateError[] {
  const errors: TemplateError[] = []
  for (const path of paths) {
    for (const error of app.engine?.refresh(path) ?? []) {
      errors.push(error)
      placeErrors(error)
      if (wants(app.bus, 'view:error')) continue
      logNews(app.faults, error, app.project)
    }
  }
  return errors
}
