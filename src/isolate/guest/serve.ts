/** The loop of a guest: one frame in, one frame out, for ever. */
import type { ContextHost } from '../../context/state.ts'
import { HOOK } from '../../compiler/hook.ts'
import type { CompiledAnswer, ControlHead, ErrorData, HookAnswer } from '../wire/message.ts'
import { answer, answerControl, answerError } from './answer.ts'
import { limitConsole, openConsole } from './console.ts'
import { createGuestHost, GuestContext } from './context.ts'
import { toErrorData } from './errors.ts'
import { CASES, headersFor } from './priming.ts'
import { NOTHING, readHeader } from './http/head.ts'
import { host } from './host.ts'
import { beginTalk, waitForHost } from './host_channel.ts'
import type { ReachNames } from '../../reach/calls/protocol.ts'
import { beginReach, toReach } from './reach.ts'
import { drawNatively, seed } from './random.ts'
import { installLazyRequest } from './http/request.ts'
import { installLazyMembers, NativeResponse } from './http/response.ts'
import { installLazyResponse } from './http/response_constructor.ts'
import { installUpgrade } from './http/upgrade.ts'
import { beginWarmUp, endWarmUp } from './timers.ts'

/** Rounds of {@link prime}: V8 begins to note shapes at a function's eighth call. */
const ROUNDS = 4

/** A handler as the bundle's entry lists it. */
export interface HandlerEntry {
  /** For people: the file, and its export unless that is `default`. */
  readonly name: string
  /** Index of the module in {@link ProgramEntry.modules}. */
  readonly module: number
  /** A method's name, or `default` for an app with `fetch`. */
  readonly export: string
}

/** What the bundle's entry hands over. */
export interface ProgramEntry {
  readonly outputBytes: number
  readonly logBytes: number
  /** What its handlers may ask of the host; left out: nothing. */
  readonly reach?: ReachNames | undefined
  readonly modules: readonly (() => Promise<Record<string, unknown>>)[]
  readonly handlers: readonly HandlerEntry[]
}

type Module = { readonly namespace: Record<string, unknown> } | { readonly error: unknown }
type Run = (ctx: GuestContext) => unknown

interface LoadedHandler {
  readonly name: string
  readonly run: Run
  /** Why the module could not be used. */
  readonly error: ErrorData | undefined
}

interface Guest {
  readonly entry: ProgramEntry
  readonly host: ContextHost
  readonly limit: number
  modules: readonly Module[]
  handlers: readonly LoadedHandler[]
  /** The request that waits for its handler's promise. */
  waiting: GuestContext | null
  /** Grows when a loop is given up; the old one ends when it sees that. */
  turn: number
}

/** Loads the modules, each by itself so that a broken one breaks its own routes only, and answers frames until fd 0 ends. */
export async function serve(entry: ProgramEntry): Promise<void> {
  installParts()
  limitConsole(entry.logBytes)
  const reach = toReach(entry.reach)
  if (entry.reach?.fetches) installFetch(reach.fetch)
  const guest: Guest = {
    entry,
    host: createGuestHost(reach.env),
    limit: entry.outputBytes,
    modules: [],
    handlers: [],
    waiting: null,
    turn: 0,
  }
  host.onIdle(() => waitForHost() || endWaiting(guest))
  const watched = host.watchExit()
  guest.modules = await loadModules(entry)
  watched()
  guest.handlers = entry.handlers.map((handler) => toHandler(handler, guest.modules[handler.module]))
  run(guest)
}

async function loadModules({ modules }: ProgramEntry): Promise<Module[]> {
  const loaded: Module[] = []
  for (const load of modules) loaded.push(await loadModule(load))
  return loaded
}

/** Loads a module. What it throws is its error; so is a top-level await that nothing will settle. */
async function loadModule(load: () => Promise<Record<string, unknown>>): Promise<Module> {
  try {
    return { namespace: await settle(load(), 'Cannot load the module') }
  } catch (error) {
    return { error }
  }
}

/** What `work` gives; rejects too where nothing will settle it, saying what could not be done, and where the runtime refused something. */
async function settle<T>(work: Promise<T>, attempt: string): Promise<T> {
  const stuck = Promise.withResolvers<never>()
  giveUp = () => stuck.reject(new TypeError(`${attempt}: it awaits a promise that nothing will settle`))
  try {
    const value = await Promise.race([work, stuck.promise])
    const refused = host.takeRefusal()
    if (refused !== undefined) throw refused
    return value
  } catch (error) {
    throw host.takeRefusal() ?? error
  } finally {
    giveUp = null
  }
}

/** Gives up what {@link settle} waits for. */
let giveUp: (() => void) | null = null

/** Calls the hooks of the modules that loaded, in their order; what fails first. */
async function runHooks({ modules }: Guest): Promise<HookAnswer> {
  for (const [index, module] of modules.entries()) {
    const hook = 'namespace' in module ? module.namespace[HOOK] : undefined
    if (hook === undefined) continue
    try {
      if (typeof hook !== 'function') throw new TypeError(`${HOOK} is ${typeof hook}, want a function`)
      await settle((async () => await hook())(), `Cannot run ${HOOK}`)
    } catch (error) {
      return { failed: { module: index, error: toErrorData(error) } }
    }
  }
  return {}
}

/** Runs the loop. Frames that cannot be read end the guest: what follows them in the stream means nothing. */
function run(guest: Guest): void {
  loop(guest).catch((error) => {
    openConsole()
    console.error('mayfly: the guest ends\n', error)
    host.exit(1)
  })
}

function toHandler(
  { name, export: key }: HandlerEntry,
  module: Module,
): LoadedHandler {
  if ('error' in module) return broken(name, module.error)
  const value = module.namespace[key]
  if (key !== 'default') {
    if (typeof value === 'function') return { name, run: value as Run, error: undefined }
    return broken(name, new TypeError(`Cannot serve ${name}: its export is ${typeof value}, want a function`))
  }
  const app = value as { fetch?: unknown } | null | undefined
  if (typeof app?.fetch !== 'function') {
    return broken(
      name,
      new TypeError(`Cannot serve ${name}: its default export has no fetch, want fetch(request)`),
    )
  }
  const fetch = app.fetch.bind(app)
  return { name, run: (ctx) => fetch(ctx.request), error: undefined }
}

function broken(name: string, error: unknown): LoadedHandler {
  const run = () => {
    throw error
  }
  return { name, run, error: toErrorData(error) }
}

let prepare: () => void = () => {}

/** Sets what makes things for the next request, before the program waits for it: a snapshot has them. It must not throw. */
export function beforeRequest(callback: () => void): void {
  prepare = callback
}

async function loop(guest: Guest): Promise<void> {
  for (const { turn } = guest; guest.turn === turn;) {
    // Made before the wait, so that a snapshot has it.
    const ctx = new GuestContext(guest.host)
    prepare()
    const hearing = host.endOfHearing()
    if (hearing !== undefined) await hearing
    const json = host.receive(ctx.head)
    if (json === null) host.exit(0)
    if (json !== '') {
      await control(guest, JSON.parse(json))
      continue
    }
    const answered = handle(guest, ctx)
    // A kept program owes a turn to what handlers left behind; after a reset it is gone.
    if (answered === undefined) await null
    else await answered
  }
}

async function control(guest: Guest, head: ControlHead): Promise<void> {
  if (head.control === 'draw') {
    drawNatively(head.count)
    return answerControl({})
  }
  if (head.control === 'settle') {
    host.settle('program')
    return answerControl({})
  }
  if (head.control === 'compiled') {
    return answerControl({ codeBytes: host.codeBytes() } satisfies CompiledAnswer)
  }
  if (head.control === 'before-snapshot') {
    seed(head.seed)
    openConsole()
    await endWarmUp()
    return answerControl(await runHooks(guest))
  }
  beginWarmUp()
  const handlers = guest.handlers.map(({ name, error }) => error === undefined ? { name } : { name, error })
  answerControl({ handlers })
}

function installFetch(value: typeof fetch): void {
  Object.defineProperty(globalThis, 'fetch', { value, writable: true, configurable: true })
}

let installed = false

function installParts(): void {
  if (installed) return
  installed = true
  installLazyRequest()
  installLazyMembers()
  installLazyResponse()
  installUpgrade()
}

/** Runs {@link CASES} as an application's handlers; nothing of it leaves the guest. In a base, whose programs share what V8 learns. */
export async function prime(): Promise<void> {
  installParts()
  const guest: Guest = {
    entry: { outputBytes: 0, logBytes: 0, modules: [], handlers: [] },
    host: createGuestHost(),
    limit: 1 << 20,
    modules: [],
    handlers: CASES.map((run, way) => ({ name: `way ${way}`, run, error: undefined })),
    waiting: null,
    turn: 0,
  }
  host.discardOutput(true)
  for (let round = 0; round < ROUNDS; round++) {
    for (let way = 0; way < CASES.length; way++) {
      for (const header of headersFor(way)) {
        const ctx = new GuestContext(guest.host)
        readHeader(header, ctx.head)
        ctx.head.body = ctx.head.line[1] === 'POST' ? new Uint8Array([0x61]) : NOTHING
        await handle(guest, ctx)
      }
    }
  }
  host.discardOutput(false)
}

/** Answers a request whose frame lies in the head of `ctx`. */
function handle(guest: Guest, ctx: GuestContext): void | Promise<void> {
  seed(ctx.head.text)
  openConsole()
  // Of what went on behind the last answer.
  beginTalk()
  host.takeRefusal()
  beginReach(() => ctx.answered)
  ctx.begin()
  try {
    const result = handlerOf(guest, ctx).run(ctx)
    if (result instanceof NativeResponse) {
      const written = answer(ctx, result, guest.limit)
      return written === undefined ? undefined : wait(guest, ctx, written)
    }
    return wait(guest, ctx, finish(guest, ctx, result))
  } catch (error) {
    answerError(ctx, error)
  }
}

function handlerOf({ handlers }: Guest, { head }: GuestContext): LoadedHandler {
  return handlers[Number(head.line[0])]
}

async function finish(guest: Guest, ctx: GuestContext, result: unknown): Promise<void> {
  const response = await result
  if (!(response instanceof NativeResponse)) throw noResponse(guest, ctx, response)
  return answer(ctx, response, guest.limit)
}

async function wait(guest: Guest, ctx: GuestContext, written: Promise<void>): Promise<void> {
  guest.waiting = ctx
  try {
    await written
  } catch (error) {
    answerError(ctx, error)
  }
  if (guest.waiting === ctx) guest.waiting = null
}

/** Nothing is left to do, yet a module or a handler waits: its promise can never settle. False: nobody waits. */
function endWaiting(guest: Guest): boolean {
  if (giveUp !== null) {
    giveUp()
    return true
  }
  const ctx = guest.waiting
  if (ctx === null) return false
  guest.waiting = null
  const { name } = handlerOf(guest, ctx)
  answerError(
    ctx,
    new TypeError(
      `Cannot answer ${ctx.method} ${ctx.pathname}: ${name} waits for a promise that nothing will settle`,
    ),
  )
  // The old loop waits with it, until a later request settles the promise after all.
  guest.turn++
  run(guest)
  return true
}

function noResponse(guest: Guest, ctx: GuestContext, value: unknown): TypeError {
  const what = value === null || value === undefined ? String(value) : `a value of type ${typeof value}`
  const { name } = handlerOf(guest, ctx)
  return new TypeError(
    `Cannot answer ${ctx.method} ${ctx.pathname}: ${name} returned ${what}, want a Response`,
  )
}
