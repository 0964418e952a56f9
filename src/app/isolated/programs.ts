/** The programs of isolated routes, in the machines that run them: they follow the route table, one program by one. */
import { delay } from '@std/async'
import { emit, wants } from '../../events/bus.ts'
import { toFailureLine } from './failure_line.ts'
import {
  closeIsolation,
  fileOf,
  type IsolatedHandler,
  type Isolation,
  type IsolationOptions,
  isOutdated,
  keepFiles,
  openIsolation,
  startGroup,
} from '../../isolate/isolation.ts'
import { NO_READINGS } from '../../compiler/readings.ts'
import { IsolationUnavailableError } from '../../isolate/machines/errors.ts'
import { type Machines, resolveParked } from '../../isolate/machines/machines.ts'
import { defaultMachines, type IsolateDefaults } from '../../isolate/plan/options.ts'
import { type Group, type Groups, type IsolatedRoute, planGroups } from '../../isolate/plan/program.ts'
import type { LoadedRoute, RouteTable } from '../../router/load/load.ts'
import type { App } from '../app.ts'
import { noteNews } from '../fault_log.ts'
import { toHooks } from './events.ts'
import { openLater } from './retry.ts'
import { namesOf } from './reach.ts'

/** Sets the table that the machines are to run; they follow at {@linkcode startIsolated}, or at once when they run already. */
export function setIsolatedTable(app: App, table: RouteTable): void {
  const { isolated } = app
  isolated.table = table
  if (isolated.work === undefined) return
  // Starts of the former table that have not begun are left to the new table.
  isolated.line.drop()
  isolated.work = isolated.work.then(() => follow(app, table))
}

/** The work of a router without a table: always this one promise, because waiters compare it with the later one. */
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

/** Whether isolated routes run without a machine around them, which every response of theirs says. */
export function runsInWorkers({ isolated: { isolation } }: App): boolean {
  return isolation !== null && isolation.machines.boundary === 'worker'
}

async function follow(app: App, table: RouteTable): Promise<void> {
  const { isolated } = app
  const isLast = () => table === isolated.table && !isolated.stop.signal.aborted
  // Saves came faster than boots: only the last table counts.
  if (!isLast()) return
  const routes = table.routes.filter((route) => route.isolated && route.error === null)
  if (routes.length === 0 && isolated.isolation === null) return
  try {
    // The files are read while the machines open.
    const planned = planGroups(routes.map(toIsolatedRoute), toDefaults(app), isolated.readings ?? NO_READINGS)
    planned.catch(() => {})
    const isolation = isolated.isolation ??= await open(app)
    const groups = await planned
    if (isolation !== null) await startPrograms(app, isolation, routes, groups, isLast)
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
  { groups, failures }: Groups,
  isLast: () => boolean,
): Promise<void> {
  const { isolated } = app
  const files = new Set(routes.map(({ file }) => file))
  keepFiles(isolation, files)
  for (const file of isolated.told.keys()) if (!files.has(file)) isolated.told.delete(file)
  if (!isLast()) return
  isolated.failures.clear()
  for (const { route, error } of failures) fail(app, isolation, route, error)
  // What is saved while the server runs is bundled anew.
  const isFresh = isolation.bundles === null || isolated.comparison !== undefined
  const starts = groups.map((group) => ({
    files: group.map(({ route }) => route.file),
    run: () => start(app, isolation, group, isFresh),
  }))
  await isolation.machines.whileStarting(() => isolated.line.run(starts, isolation.options.vms))
  if (!isFresh) isolated.comparison = compare(app, isolation, groups, isLast)
}

/** Keeps what was read, and starts those programs again whose kept bundles are not what the files give now, when the first requests are over. */
async function compare(
  app: App,
  isolation: Isolation,
  groups: readonly Group[],
  isLast: () => boolean,
): Promise<void> {
  try {
    await delay(COMPARE_AFTER_MS, { signal: app.isolated.stop.signal, persistent: false })
    await app.isolated.readings?.save()
    for (const group of groups) {
      if (!isLast()) return
      if (await isOutdated(isolation, group) && isLast()) await start(app, isolation, group, true)
    }
  } catch (error) {
    if (!app.isolated.stop.signal.aborted) console.error('mayfly: kept bundles cannot be compared\n', error)
  }
}

/** Brings one program into service, or reports why it cannot. */
async function start(app: App, isolation: Isolation, group: Group, isFresh: boolean): Promise<void> {
  const failed = await startGroup(isolation, group, isFresh)
  for (const { route } of group) {
    const error = failed.get(route.file)
    if (error === undefined) app.isolated.told.delete(route.file)
    else fail(app, isolation, route, error)
  }
}

/** What the router says for all isolated routes. */
function toDefaults({ options: { isolate } }: App): IsolateDefaults {
  if (isolate === false || isolate === undefined) return {}
  const { runtime, timeoutMs, cpuMs, memoryMb, coarseClockUs, limits } = isolate
  return { runtime, timeoutMs, cpuMs, memoryMb, coarseClockUs, limits }
}

/** Milliseconds from the start of all programs until kept bundles are compared with fresh ones. */
const COMPARE_AFTER_MS = 2000
/** MiB of snapshots on disk. */
const DEFAULT_CACHE_MB = 2048

/** Null where nothing can run the programs; says why, once. */
async function open(app: App): Promise<Isolation | null> {
  const { isolate } = app.options
  const { isolated } = app
  if (isolate === false || isolated.unavailable !== null) return null
  const {
    vms = defaultMachines(),
    queue = 1024,
    parked,
    memoryBudgetMb,
    cacheDir,
    cacheMb = DEFAULT_CACHE_MB,
  } = isolate ?? {}
  const { signal } = isolated.stop
  const hooks = toHooks(app.bus)
  const options: IsolationOptions = {
    vms,
    queue,
    parked: resolveParked(parked),
    ...(memoryBudgetMb === undefined ? {} : { memoryBudgetMb }),
    ...(cacheDir === undefined ? {} : { snapshots: { dir: cacheDir, mostMb: cacheMb } }),
    onRefused: hooks.refused,
    onDrop: hooks.dropped,
    // Without a server nobody waits for a first answer: then the first one is warm.
    warmLater: app.serving,
    onResidue: hooks.residue,
    routesDir: app.options.routesDir,
    reach: namesOf(isolated.reach),
    hooks,
    onBuild: () => void (isolated.building = true),
    signal,
  }
  try {
    return await openIsolation(options, isolated.openMachines)
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
      const { openProcessPool } = await import('../../isolate/processes/process_pool.ts')
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
    () => openIsolation(quiet, isolated.openMachines),
    error,
    signal,
    isolated.retryPauseMs,
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
  else console.error(`mayfly: ${toFailureLine(file, error, app.project)}`)
  const { line } = noteNews(app.faults, error, app.project)
  if (ran) app.liveReload?.faults.set(file, line)
}
