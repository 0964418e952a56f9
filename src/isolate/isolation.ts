/**
 * Isolated routes at work: the machines, and the programs that they run. `requests.ts` has the requests.
 *
 * ```text
 * openIsolation -> machines
 * keepFiles(files)    programs of no other file end after their last requests
 * startGroup(group) -> bundle, boot beside what runs -> adopt: its handlers take the place of those of the same files
 * runIsolated(handler, ctx) -> frame -> machine -> frame -> Response
 * ```
 */
import { BundleCache } from './bundle/bundle_cache.ts'
import { HttpError } from '../errors/http_error.ts'
import { type ColdFinding, type ColdWatch, createColdWatch } from './machines/cold_watch.ts'
import { ProgramError } from './compile/compiler.ts'
import { BootError, IsolationUnavailableError, NativeBuildError } from './machines/errors.ts'
import type { Completion } from './machines/completion.ts'
import type { ReachNames } from '../reach/calls/protocol.ts'
import { type Grants, toGrants } from './plan/grants.ts'
import type { BootedProgram, Machines, MachinesOptions, Readiness } from './machines/machines.ts'
import type { Denied, Ending } from './machines/outcome.ts'
import { type Group, planProgram, type Program } from './plan/program.ts'
import { decodeDescription } from './wire/response_frame.ts'
import { toHostError } from './plan/stack.ts'
import { type HandlerTrial, isWarm } from './machines/trial.ts'
import { HEADER_MAX } from './wire/wire.ts'

/** What the isolation reports; hooks must not throw. Times are in the unit that their names end with. */
export interface IsolationHooks {
  boot?: (program: Program) => void
  /** After it, where the program uses globals that its runtime has not. */
  missing?: (program: Program) => void
  ready?: (program: Program, how: Readiness) => void
  /** After it, for each trial in which a handler ran slower than at the end of its warm-up. */
  unsettled?: (program: Program, trial: HandlerTrial) => void
  /** Requests of one shape stay slower than the trial of their handler; reported once for each shape. */
  cold?: (program: Program, handler: number, finding: ColdFinding) => void
  /** Every request that came out of a machine, with how it ended, once its machine is reset: often after its answer. */
  complete?: (program: Program, completion: Completion) => void
  /** After it, for one whose machine was lost in the request or in the reset, and is made anew. */
  lost?: (program: Program, completion: Completion) => void
  /** After it, for one that ended without its handler's answer. */
  ended?: (program: Program, completion: Completion, ending: Ending) => void
  /** After it, for each thing that the request was denied. */
  denied?: (program: Program, completion: Completion, denied: Denied) => void
  /** Its snapshot was dropped for those of others. */
  dropped?: (program: Program) => void
  /** Its snapshot on disk is of no use, and it boots. */
  refused?: (program: Program, reason: string) => void
  /** A program was looked at for what its warm-up left; these handlers show it. */
  residue?: (program: Program, handlers: readonly string[]) => void
  /** The queue was full, or `reason` names the bound of requests that wait for the host. */
  rejected?: (program: Program, limit: number, reason?: string) => void
}

/** Options of {@linkcode openIsolation}. */
export interface IsolationOptions extends MachinesOptions {
  /** As `planPrograms` takes it. */
  readonly routesDir?: string | undefined
  /** As `planPrograms` takes it. */
  readonly reach?: ReachNames | undefined
  readonly hooks: IsolationHooks
}

/** The machines and the programs that run in them. */
export interface Isolation {
  readonly options: IsolationOptions
  readonly machines: Machines
  /** Bundles of earlier starts; null where none are kept. */
  readonly bundles: BundleCache | null
  /** By hash. */
  readonly programs: Map<string, RunningProgram>
  /** By {@linkcode handlerKey}; what a request that met a retired program goes to. */
  readonly handlers: Map<string, IsolatedHandler>
  /** Programs whose last requests run. */
  readonly retiring: Set<Promise<void>>
}

/** A program that has booted. */
export interface RunningProgram {
  readonly plan: Program
  readonly booted: BootedProgram
  readonly grants: Grants
}

/** One handler of a running program. */
export interface IsolatedHandler {
  readonly key: string
  readonly program: RunningProgram
  readonly index: number
  /** What its module threw when the program booted. */
  readonly error: Error | undefined
  /** Of the snapshot that serves now. */
  watch: ColdWatch
}

/** Names a handler across programs; `method` is null for a mounted app. */
export function handlerKey(file: string, method: string | null): string {
  return `${method ?? '*'} ${file}`
}

/** Isolation without programs, on what `open` gives. Rejects as `open` does. */
export async function openIsolation(
  options: IsolationOptions,
  open: (options: MachinesOptions) => Promise<Machines>,
): Promise<Isolation> {
  const machines = await open({ ...options, onReady: (plan, how) => serveAnew(isolation, plan, how) })
  const isolation: Isolation = {
    options,
    machines,
    bundles: typeof machines.folder === 'string' ? new BundleCache(machines.folder) : null,
    programs: new Map(),
    handlers: new Map(),
    retiring: new Set(),
  }
  return isolation
}

/**
 * Bundles a group of files and boots their program, unless that runs already; its handlers take the place of the former ones of these
 * files. Gives the errors of files that are in no program now: what they had before, they keep. Never rejects. Unless it is to be
 * `fresh`, the bundle may be one of an earlier start.
 */
export async function startGroup(
  isolation: Isolation,
  group: Group,
  fresh = true,
): Promise<ReadonlyMap<string, Error>> {
  const { program: plan, failures } = await planProgram(group, toSurroundings(isolation, fresh))
  const failed = new Map(failures.map(({ route, error }) => [route.file, error]))
  if (plan === null) return failed
  try {
    const handlers = adopt(isolation, isolation.programs.get(plan.hash) ?? await boot(isolation, plan))
    for (const handler of handlers) {
      if (handler.error !== undefined) failed.set(fileOf(handler), handler.error)
    }
  } catch (error) {
    for (const { route } of plan.handlers) failed.set(route.file, toRouteError(plan, error as Error))
  }
  return failed
}

/** Whether a group's program was started from a kept bundle, and would be another if it were bundled now. */
export async function isOutdated({ programs, ...isolation }: Isolation, group: Group): Promise<boolean> {
  const files = new Set(group.map(({ route }) => route.file))
  const ofGroup = ({ plan }: RunningProgram) =>
    plan.kept === true && plan.files.some((file) => files.has(file))
  if (![...programs.values()].some(ofGroup)) return false
  const { program } = await planProgram(group, toSurroundings(isolation, true))
  return program === null || !programs.has(program.hash)
}

function toSurroundings({ options, bundles }: Pick<Isolation, 'options' | 'bundles'>, fresh: boolean) {
  const { routesDir, reach } = options
  return { routesDir, reach, ...(bundles === null ? {} : { bundles: { cache: bundles, fresh } }) }
}

/** Ends what runs for other files than these. */
export function keepFiles(isolation: Isolation, files: ReadonlySet<string>): void {
  for (const [key, handler] of isolation.handlers) {
    if (!files.has(fileOf(handler))) isolation.handlers.delete(key)
  }
  retireUnused(isolation)
}

/** The file of a handler. */
export function fileOf({ program, index }: IsolatedHandler): string {
  return program.plan.handlers[index]!.route.file
}

/** Makes a program the current one of its files; a handler whose module throws now leaves its place to the one before. Gives all of them. */
function adopt(isolation: Isolation, running: RunningProgram): readonly IsolatedHandler[] {
  isolation.programs.set(running.plan.hash, running)
  // What throws here is of no handler then, and the next program that comes ends it.
  const handlers = describeHandlers(running)
  const files = new Set(handlers.map(fileOf))
  const broken = new Set(handlers.filter(({ error }) => error !== undefined).map(({ key }) => key))
  for (const [key, former] of isolation.handlers) {
    const stays = broken.has(key) && former.error === undefined
    if (files.has(fileOf(former)) && !stays) isolation.handlers.delete(key)
  }
  for (const handler of handlers) {
    if (!isolation.handlers.has(handler.key)) isolation.handlers.set(handler.key, handler)
  }
  retireUnused(isolation)
  return handlers
}

/** Ends the programs that no handler is of, after their last requests. */
function retireUnused({ programs, handlers, machines, retiring }: Isolation): void {
  const used = new Set([...handlers.values()].map(({ program }) => program))
  for (const [hash, program] of programs) {
    if (used.has(program)) continue
    programs.delete(hash)
    const retired = machines.retire(program.booted)
      .catch((error) => console.error('mayfly: a program cannot be ended\n', error))
      .finally(() => retiring.delete(retired))
    retiring.add(retired)
  }
}

/** Ends the machines after the requests under way, which their deadlines bound. */
export async function closeIsolation({ machines, retiring }: Isolation): Promise<void> {
  await Promise.all(retiring)
  await machines.close()
}

async function boot({ options, machines }: Isolation, plan: Program): Promise<RunningProgram> {
  options.hooks.boot?.(plan)
  if (plan.bundle.missing.length > 0) options.hooks.missing?.(plan)
  const booted = await machines.boot(plan, true)
  tellReady(options, plan, booted)
  return { plan, booted, grants: toGrants(plan.options.may) }
}

/** Reports how a program came to serve, and which of its handlers the warm-up did not settle. */
function tellReady({ hooks }: IsolationOptions, plan: Program, how: Readiness): void {
  const { warm, cached, bootMs, loadMs, settled, trials = [] } = how
  hooks.ready?.(plan, {
    ...(warm === undefined ? {} : { warm }),
    ...(cached === undefined ? {} : { cached }),
    bootMs,
    ...(loadMs === undefined ? {} : { loadMs }),
    ...(settled === undefined ? {} : { settled }),
  })
  for (const trial of trials) if (!isWarm(trial)) hooks.unsettled?.(plan, trial)
}

/** A program serves from another snapshot now: what its handlers promise are that one's trials. */
function serveAnew({ handlers, options }: Isolation, plan: Program, how: Readiness): void {
  tellReady(options, plan, how)
  for (const handler of handlers.values()) {
    if (handler.program.plan === plan) handler.watch = toWatch(plan, handler.index, how)
  }
}

/** Why the routes of a program that did not start cannot be served. Another runtime never takes them. */
function toRouteError({ options: { runtime }, executable, files }: Program, error: Error): Error {
  if (executable !== undefined && error instanceof BootError) {
    return new ProgramError(`Cannot load ${files.join(', ')}: ${error.message}`, null, { cause: error })
  }
  if (!(error instanceof IsolationUnavailableError || error instanceof NativeBuildError)) return error
  return new HttpError(503, `The runtime '${runtime}' of this handler cannot run here`, {
    type: 'isolation-unavailable',
    headers: { 'retry-after': '60' },
    cause: error,
  })
}

/** The handlers of a program, with the errors of those whose modules failed. */
function describeHandlers(program: RunningProgram): IsolatedHandler[] {
  const { plan, booted } = program
  const limits = { header: HEADER_MAX, body: HEADER_MAX }
  const described = decodeDescription(booted.description, limits).handlers
  return plan.handlers.map(({ route, method }, index) => {
    const error = described[index]?.error
    return {
      key: handlerKey(route.file, method),
      program,
      index,
      error: error === undefined ? undefined : toHostError(plan.stacks, error),
      watch: toWatch(plan, index, booted),
    }
  })
}

function toWatch({ handlers }: Program, index: number, { trials = [] }: Readiness): ColdWatch {
  const { route, method } = handlers[index]!
  return createColdWatch(route.pattern, method === null, trials.filter(({ handler }) => handler === index))
}
