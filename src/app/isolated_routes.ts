/**
 * The isolated routes of an app. Requests find their handler by file and method in what the machines run now, so a route table may
 * be swapped before the program of a changed file has booted: until then the old program answers.
 */
import type { Context, Handler } from '../context/types.ts'
import { stateOf } from '../context/internals.ts'
import { HttpError } from '../errors/http_error.ts'
import { emit, wants } from '../events/bus.ts'
import {
  adoptPrograms,
  closeIsolation,
  handlerKey,
  type Isolation,
  type IsolationHooks,
  type LoadedPrograms,
  loadPrograms,
  openIsolation,
  runIsolated,
} from '../isolate/isolation.ts'
import { stopBundler } from '../isolate/compiler.ts'
import { openVirtualMachines } from '../isolate/virtual_machines.ts'
import type { IsolatedRoute } from '../isolate/program.ts'
import type { LoadedRoute, RouteTable } from '../router/load.ts'
import type { App } from './app.ts'
import { noIsolatedRoutes } from './isolated_state.ts'

/** The handler of an isolated route; `method` is null for a mounted app. It never runs in the host. */
export function toIsolatedHandler(app: App, route: LoadedRoute, method: string | null): Handler {
  const { file } = route
  const key = handlerKey(file, method)
  return async (ctx: Context) => {
    const { isolated } = app
    let handler = isolated.isolation?.handlers.get(key)
    if (handler === undefined) {
      await startIsolated(app)
      handler = isolated.isolation?.handlers.get(key)
    }
    if (handler !== undefined) return await runIsolated(isolated.isolation!, handler, stateOf(ctx))
    throw isolated.failures.get(file) ?? new HttpError(503, 'No virtual machine can run this handler here', {
      type: 'isolation-unavailable',
      headers: { 'retry-after': '60' },
      cause: isolated.unavailable ?? undefined,
    })
  }
}

/** Tells which table the machines are to run; they follow at {@linkcode startIsolated}, or at once when they run already. */
export function setIsolatedTable(app: App, table: RouteTable): void {
  const { isolated } = app
  isolated.table = table
  if (isolated.work !== undefined) isolated.work = isolated.work.then(() => follow(app, table))
}

/** Boots the programs of the table, once; resolves when they run or cannot. Never rejects. */
export function startIsolated(app: App): Promise<void> {
  const { isolated } = app
  if (isolated.table === undefined) return Promise.resolve()
  return isolated.work ??= follow(app, isolated.table)
}

/** Ends the machines. */
export async function closeIsolated(app: App): Promise<void> {
  const { isolated } = app
  await isolated.work
  if (isolated.isolation !== null) await closeIsolation(isolated.isolation)
  app.isolated = noIsolatedRoutes()
  await stopBundler()
}

async function follow(app: App, table: RouteTable): Promise<void> {
  const { isolated } = app
  // Saves came faster than boots: only the last table counts.
  if (table !== isolated.table) return
  const routes = table.routes.filter((route) => route.isolated && route.error === null)
  if (routes.length === 0 && isolated.isolation === null) return
  try {
    isolated.isolation ??= await open(app)
    if (isolated.isolation === null) return
    const loaded = await loadPrograms(isolated.isolation, routes.map(toIsolatedRoute))
    const kept = keepLastGood(isolated.isolation, loaded)
    report(app, routes, loaded, isolated.isolation)
    isolated.failures = loaded.failures
    await adoptPrograms(isolated.isolation, kept)
  } catch (error) {
    isolated.unavailable = error as Error
    console.error('mayfly: isolated routes answer 503\n', error)
  }
}

/** Null where no machine can run; says why once. */
async function open(app: App): Promise<Isolation | null> {
  const { isolate } = app.options
  if (isolate === false) return null
  const { vms = navigator.hardwareConcurrency, queue = 1024, timeoutMs, cpuMs, memoryMb, limits } = isolate ??
    {}
  try {
    const options = { vms, queue, defaults: { timeoutMs, cpuMs, memoryMb, limits }, hooks: toHooks(app) }
    return await openIsolation(options, openVirtualMachines)
  } catch (error) {
    app.isolated.unavailable = error as Error
    const wish = isolate?.onUnavailable === 'worker' ? ' (workers in their place are not built yet)' : ''
    console.error(`mayfly: isolated routes answer 503${wish}: ${(error as Error).message}`)
    return null
  }
}

function toIsolatedRoute({ file, path, pattern, methods, mount }: LoadedRoute): IsolatedRoute {
  return { file, path, pattern, methods, mount }
}

/** What was loaded, with the former handlers of files whose last save is broken. */
function keepLastGood(isolation: Isolation, loaded: LoadedPrograms): LoadedPrograms {
  const handlers = new Map(loaded.handlers)
  const programs = new Map(loaded.programs)
  for (const [key, handler] of isolation.handlers) {
    const { file } = handler.program.plan.handlers[handler.index].route
    if (handlers.has(key) || !loaded.failures.has(file)) continue
    handlers.set(key, handler)
    programs.set(handler.program.plan.hash, handler.program)
  }
  return { handlers, programs, failures: loaded.failures }
}

function report(
  app: App,
  routes: readonly LoadedRoute[],
  loaded: LoadedPrograms,
  isolation: Isolation,
): void {
  for (const { file, pattern } of routes) {
    const error = loaded.failures.get(file)
    if (error === undefined) continue
    const ran = [...isolation.handlers.values()].some(({ program, index }) =>
      program.plan.handlers[index].route.file === file
    )
    const kind = ran ? 'reload:error' : 'route:error'
    if (wants(app.bus, kind)) emit(app.bus, kind, { file, pattern, error })
    else console.error(`mayfly: ${error.message}`)
  }
}

function toHooks({ bus }: App): IsolationHooks {
  return {
    boot: (program) => emit(bus, 'isolate:boot', { program }),
    ready: (program, how) => emit(bus, 'isolate:ready', { program, ...how }),
    rejected: (program, limit) => emit(bus, 'isolate:rejected', { program, limit }),
    complete: (program, completion) => {
      const kind = COMPLETION_KINDS[completion.outcome] ?? 'isolate:crash'
      if (!wants(bus, kind) && !wants(bus, 'isolate:complete')) return
      const { worker, queueUs, runUs, resetUs, exits, dirtyPages, message } = completion
      const metadata = {
        program,
        vm: worker,
        queueMicros: queueUs,
        runMicros: runUs,
        resetMicros: resetUs,
        exits,
        dirtyPages,
        ...(message === '' ? {} : { reason: message }),
      }
      emit(bus, 'isolate:complete', metadata)
      if (kind !== 'isolate:complete') emit(bus, kind, metadata)
    },
  }
}

const COMPLETION_KINDS: Readonly<
  Record<string, 'isolate:complete' | 'isolate:timeout' | 'isolate:memory' | undefined>
> = {
  answered: 'isolate:complete',
  timeout: 'isolate:timeout',
  stuck: 'isolate:timeout',
  memory: 'isolate:memory',
}
