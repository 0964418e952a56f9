/**
 * The isolated routes of an app. Requests find their handler by file and method in what the machines run now, so a route table may
 * be swapped before the program of a changed file has booted: until then the old program answers. Programs come into service one by
 * one; a request for one that is not there yet brings it to the front.
 */
import type { Awaitable, Context, Handler } from '../context/types.ts'
import { toMutable } from '../context/headers.ts'
import { stateOf } from '../context/internals.ts'
import type { RequestState } from '../context/state.ts'
import { HttpError } from '../errors/http_error.ts'
import { emit, wants } from '../events/bus.ts'
import {
  closeIsolation,
  fileOf,
  handlerKey,
  type IsolatedHandler,
  type Isolation,
  type IsolationOptions,
  keepFiles,
  openIsolation,
  runIsolated,
  startGroup,
} from '../isolate/isolation.ts'
import { IsolationUnavailableError } from '../isolate/machines/errors.ts'
import type { Machines } from '../isolate/machines/machines.ts'
import { openProcessPool } from '../isolate/processes/process_pool.ts'
import { defaultMachines } from '../isolate/plan/options.ts'
import { type Group, type IsolatedRoute, planGroups } from '../isolate/plan/program.ts'
import { recordSample, takeSample } from '../isolate/warm/warmup_recorder.ts'
import type { LoadedRoute, RouteTable } from '../router/load/load.ts'
import type { App } from './app.ts'
import { noteNews } from './fault_log.ts'
import { toHooks } from './isolated_events.ts'
import { openLater } from './isolated_retry.ts'
import { namesOf, toChannel } from './isolated_reach.ts'
import { noIsolatedRoutes } from './isolated_state.ts'

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
  if (!app.development) return runIsolated(isolation, handler, state, toChannel(app.reach, handler))
  return runInDevelopment(app, isolation, handler, state)
}

/** The response says what ran its handler; its request is written down where that was asked for. */
async function runInDevelopment(
  app: App,
  isolation: Isolation,
  handler: IsolatedHandler,
  state: RequestState,
): Promise<Response> {
  const { recorder } = app
  const { route, method } = handler.program.plan.handlers[handler.index]!
  const sample = recorder === null ? null : takeSample(route, method === null, state)
  const response = await runIsolated(isolation, handler, state, toChannel(app.reach, handler))
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
  state.waitsForStart = true
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    if (!app.serving) return await work
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(stillStarting(app)), app.startWaitMs)
    })
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    state.waitsForStart = false
  }
}

function stillStarting({ isolated: { building } }: App): HttpError {
  const message = building
    ? 'The virtual machines are being built, which takes some minutes at their first start'
    : 'The program of this handler is starting'
  return new HttpError(503, message, { type: 'isolation-starting', headers: { 'retry-after': '5' } })
}

/** Sets the table that the machines are to run; they follow at {@linkcode startIsolated}, or at once when they run already. */
export function setIsolatedTable(app: App, table: RouteTable): void {
  const { isolated } = app
  isolated.table = table
  if (isolated.work === undefined) return
  // Starts of the former table that have not begun are left to the new table.
  isolated.line.drop()
  isolated.work = isolated.work.then(() => follow(app, table))
}

/** Work where there is no table, one and the same: who waits compares it with what there is later. */
const NOTHING = Promise.resolve()

/** Boots the programs of the table, once; resolves when they run or cannot. Never rejects. */
export function startIsolated(app: App): Promise<void> {
  const { isolated } = app
  if (isolated.table === undefined) return NOTHING
  return isolated.work ??= follow(app, isolated.table)
}

/**
 * The machines of the isolated routes for what is no route, opened if need be. Rejects with `IsolationUnavailableError` where there are
 * none; worker processes do not count.
 */
export async function openSharedMachines(app: App): Promise<Machines> {
  const { isolated } = app
  await startIsolated(app)
  if (isolated.isolation === null && isolated.unavailable === null) {
    await (isolated.work = (isolated.work ?? NOTHING).then(async () => {
      if (!isolated.stop.signal.aborted) isolated.isolation ??= await open(app)
    }))
  }
  const machines = isolated.isolation?.machines
  if (machines?.boundary === 'vm') return machines
  const why = app.options.isolate === false ? 'the router has isolate: false' : isolated.unavailable?.message
  throw new IsolationUnavailableError(
    `Cannot run code in a sandbox: ${why ?? 'there is no virtual machine here'}`,
  )
}

/** Ends the machines, and a build that nobody needs any more. */
export async function closeIsolated(app: App): Promise<void> {
  const { isolated } = app
  isolated.stop.abort()
  isolated.line.drop()
  await isolated.again
  await isolated.work
  if (isolated.isolation !== null) await closeIsolation(isolated.isolation)
  app.isolated = noIsolatedRoutes()
}

async function follow(app: App, table: RouteTable): Promise<void> {
  const { isolated } = app
  const isLast = () => table === isolated.table && !isolated.stop.signal.aborted
  // Saves came faster than boots: only the last table counts.
  if (!isLast()) return
  const routes = table.routes.filter((route) => route.isolated && route.error === null)
  if (routes.length === 0 && isolated.isolation === null) return
  try {
    const isolation = isolated.isolation ??= await open(app)
    if (isolation !== null) await startPrograms(app, isolation, routes, isLast)
  } catch (error) {
    console.error('mayfly: the programs of isolated routes cannot be loaded\n', error)
  } finally {
    if (isLast()) isolated.line.settle()
  }
}

/** Brings the programs of the routes into service, each by itself; `isLast` says whether they are still wanted. */
async function startPrograms(
  app: App,
  isolation: Isolation,
  routes: readonly LoadedRoute[],
  isLast: () => boolean,
): Promise<void> {
  const { isolated } = app
  const files = new Set(routes.map(({ file }) => file))
  keepFiles(isolation, files)
  for (const file of isolated.told.keys()) if (!files.has(file)) isolated.told.delete(file)
  const { groups, failures } = await planGroups(routes.map(toIsolatedRoute), isolation.options.defaults)
  if (!isLast()) return
  isolated.failures.clear()
  for (const { route, error } of failures) fail(app, isolation, route, error)
  const starts = groups.map((group) => ({
    files: group.map(({ route }) => route.file),
    run: () => start(app, isolation, group),
  }))
  await isolation.machines.whileStarting(() => isolated.line.run(starts, isolation.options.vms))
}

/** Brings one program into service, or reports why it cannot. */
async function start(app: App, isolation: Isolation, group: Group): Promise<void> {
  const failed = await startGroup(isolation, group)
  for (const { route } of group) {
    const error = failed.get(route.file)
    if (error === undefined) app.isolated.told.delete(route.file)
    else fail(app, isolation, route, error)
  }
}

/** Null where nothing can run the programs; says why, once. */
async function open(app: App): Promise<Isolation | null> {
  const { isolate } = app.options
  const { isolated } = app
  if (isolate === false || isolated.unavailable !== null) return null
  const {
    vms = defaultMachines(),
    queue = 1024,
    memoryBudgetMb,
    onUnavailable: _instead,
    recordWarmup: _records,
    bindings: _bindings,
    outbound: _outbound,
    ...defaults
  } = isolate ?? {}
  const { signal } = isolated.stop
  const hooks = toHooks(app.bus)
  const options: IsolationOptions = {
    vms,
    queue,
    ...(memoryBudgetMb === undefined ? {} : { memoryBudgetMb }),
    onDrop: hooks.dropped,
    // Without a server nobody waits for a first answer: then the first one is warm.
    warmLater: app.serving,
    onResidue: hooks.residue,
    defaults,
    routesDir: app.options.routesDir,
    reach: namesOf(app.reach),
    hooks,
    onBuild: () => void (isolated.building = true),
    signal,
  }
  try {
    return await openIsolation(options, app.openMachines)
  } catch (error) {
    if (signal.aborted) return null
    isolated.again = openAgain(app, options, error as Error)
    return await openElsewhere(app, options, error as Error)
  } finally {
    isolated.building = false
  }
}

/** What the options say is to be done where no virtual machine can run. */
async function openElsewhere(app: App, options: IsolationOptions, error: Error): Promise<Isolation | null> {
  const { isolate } = app.options
  const instead = isolate !== false && isolate?.onUnavailable === 'worker' ? 'worker' : 'refuse'
  emit(app.bus, 'isolate:unavailable', { error, instead })
  if (instead === 'worker') {
    console.error(
      `mayfly: no virtual machine can run here: ${error.message}\n` +
        "mayfly: isolated routes run in worker processes instead, as isolate.onUnavailable is 'worker': Deno without permissions, " +
        'and no machine around it; their responses say x-mayfly-isolation: worker',
    )
    try {
      return await openIsolation(options, openProcessPool)
    } catch (failure) {
      error = failure as Error
    }
  }
  app.isolated.unavailable = error
  console.error(`mayfly: isolated routes answer 503 (isolation-unavailable): ${error.message}`)
  return null
}

/** Opens the machines as soon as they can be had, and moves the programs there. */
async function openAgain(app: App, options: IsolationOptions, error: Error): Promise<void> {
  const { isolated } = app
  const { signal } = isolated.stop
  // Requests are not to wait for a build of these.
  const quiet = { ...options, onBuild: undefined }
  const isolation = await openLater(
    () => openIsolation(quiet, app.openMachines),
    error,
    signal,
    app.retryPauseMs,
  )
  if (isolation === null) return
  if (signal.aborted) return await closeIsolation(isolation)
  console.error('mayfly: virtual machines can run here now, and isolated routes do')
  isolated.work = (isolated.work ?? Promise.resolve()).then(async () => {
    const former = isolated.isolation
    // Who asks for a program from now on waits for its start there.
    isolated.line.drop()
    isolated.isolation = isolation
    isolated.unavailable = null
    if (isolated.table !== undefined) await follow(app, isolated.table)
    if (former !== null) await closeIsolation(former)
  })
}

function toIsolatedRoute({ file, path, pattern, methods, mount }: LoadedRoute): IsolatedRoute {
  return { file, path, pattern, methods, mount }
}

/** Records that a route is in no program, and reports it unless its last report was the same. The former handlers of its file go on. */
function fail(app: App, isolation: Isolation, { file, pattern }: IsolatedRoute, error: Error): void {
  const { failures, told } = app.isolated
  failures.set(file, error)
  if (told.get(file) === error.message) return
  told.set(file, error.message)
  const runs = (handler: IsolatedHandler) => fileOf(handler) === file && handler.error === undefined
  const ran = [...isolation.handlers.values()].some(runs)
  const kind = ran ? 'reload:error' : 'route:error'
  if (wants(app.bus, kind)) emit(app.bus, kind, { file, pattern, error })
  else console.error(`mayfly: ${error.message}`)
  const { line } = noteNews(app.faults, error, app.project)
  if (ran) app.liveReload?.faults.set(file, line)
}
