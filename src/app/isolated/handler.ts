/** The handler of an isolated route: it waits for its program where that has not started, and passes the request on to it. */
import type { Awaitable, Context, Handler } from '../../context/types.ts'
import { toMutable } from '../../context/headers.ts'
import { stateOf } from '../../context/internals.ts'
import type { RequestState } from '../../context/state.ts'
import { HttpError } from '../../errors/http_error.ts'
import { handlerKey, type IsolatedHandler, type Isolation } from '../../isolate/isolation.ts'
import { runIsolated } from '../../isolate/requests.ts'
import { recordSample, takeSample } from '../../isolate/warm/warmup_recorder.ts'
import type { LoadedRoute } from '../../router/load/load.ts'
import type { App } from '../app.ts'
import { startIsolated } from './programs.ts'
import { toChannel } from './reach.ts'

/** The handler of an isolated route; `method` is null for a mounted app. It never runs in the host. */
export function toIsolatedHandler(app: App, route: LoadedRoute, method: string | null): Handler {
  const { file } = route
  const key = handlerKey(file, method)
  return (ctx: Context) => {
    const { isolation } = app.isolated
    const handler = isolation?.handlers.get(key)
    if (handler === undefined) return runAfterStart(app, file, key, stateOf(ctx))
    return run(app, isolation!, handler, stateOf(ctx))
  }
}

async function runAfterStart(app: App, file: string, key: string, state: RequestState): Promise<Response> {
  const { isolated } = app
  let work, handler
  do {
    work = startIsolated(app)
    await awaitStart(app, file, state)
    handler = isolated.isolation?.handlers.get(key)
    // Other machines, or another table, came meanwhile: the handler may be there now.
  } while (handler === undefined && work !== startIsolated(app))
  if (handler !== undefined) return await run(app, isolated.isolation!, handler, state)
  throw isolated.failures.get(file) ?? new HttpError(503, 'No virtual machine can run this handler here', {
    type: 'isolation-unavailable',
    headers: { 'retry-after': '60' },
    cause: isolated.unavailable ?? undefined,
  })
}

function run(
  app: App,
  isolation: Isolation,
  handler: IsolatedHandler,
  state: RequestState,
): Awaitable<Response> {
  if (!app.development) return runIsolated(isolation, handler, state, toChannel(app.isolated.reach, handler))
  return runInDevelopment(app, isolation, handler, state)
}

/** The response says what ran its handler; its request is written down where that was asked for. */
async function runInDevelopment(
  app: App,
  isolation: Isolation,
  handler: IsolatedHandler,
  state: RequestState,
): Promise<Response> {
  const { recorder } = app.isolated
  const { route, method } = handler.program.plan.handlers[handler.index]!
  const sample = recorder === null ? null : takeSample(route, method === null, state)
  const response = await runIsolated(isolation, handler, state, toChannel(app.isolated.reach, handler))
  if (sample !== null && response.ok) recordSample(recorder!, sample)
  return withRuntime(response, handler)
}

/** The response, with a header that says what ran its handler. */
function withRuntime(response: Response, { program: { plan } }: IsolatedHandler): Response {
  const named = toMutable(response)
  named.headers.set('x-mayfly-runtime', plan.options.runtime)
  return named
}

/**
 * Waits until the program of a file runs or cannot; that is not the handler's time. Rejects with 503 when a client has waited
 * for `startWaitMs`. Without a server no connection is held: then the wait ends with the work, which has deadlines.
 */
async function awaitStart(app: App, file: string, state: RequestState): Promise<void> {
  const work = Promise.race([startIsolated(app), app.isolated.line.ask(file)])
  const { starting, startWaitMs } = app.isolated
  starting.set(state, true)
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    if (!app.serving) return await work
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(stillStarting(app)), startWaitMs)
    })
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    starting.set(state, false)
  }
}

/**
 * Whether a request's time begins anew because it was spent on the start of its program: as often as it is over while the request waits,
 * and once after that.
 */
export function waitedForStart({ isolated: { starting } }: App, state: RequestState): boolean {
  const waits = starting.get(state)
  if (waits === false) starting.delete(state)
  return waits !== undefined
}

function stillStarting({ isolated: { building } }: App): HttpError {
  const message = building
    ? 'The virtual machines are being built, which takes some minutes at their first start'
    : 'The program of this handler is starting'
  return new HttpError(503, message, { type: 'isolation-starting', headers: { 'retry-after': '5' } })
}
