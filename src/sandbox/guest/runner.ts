/**
 * What a machine runs that waits for code: a handler for calls and one for requests. A run's own code may replace whatever it reaches; the
 * reset ends that with everything else, so all that is used behind it was taken before.
 */
import {
  type Call,
  type CallAnswer,
  type CallMessage,
  type FetchCall,
  fromCallMessage,
  type GuestProgram,
  PROPS_HEAD_BYTES,
} from '../message.ts'
import { decodeValue } from '../../values/decode.ts'
import { encodeValue, joinMessage } from '../../values/encode.ts'
import type { ReachNames } from '../../reach/calls/protocol.ts'
import type { Evaluate, Namespace } from './engine.ts'

/** The part of the guest's context that is used here. */
interface RunnerContext {
  readonly head: { body: Uint8Array<ArrayBuffer> }
  readonly request: Request
  readonly send: { text(text: string): Response }
}

/** What the guest has for what a program may ask of the host. */
export type ToReach = (names: ReachNames | undefined, joinsHttp?: boolean) => {
  readonly env: Readonly<Record<string, unknown>>
  readonly fetch: typeof fetch
}

type Method = (...args: unknown[]) => unknown
type Environment = Readonly<Record<string, unknown>>

/** What a program is told of the call that it serves, as in Workers. */
interface ExecutionContext {
  readonly props: unknown
  /** The answer waits for it: after it the machine is reset. */
  waitUntil(work: unknown): void
  passThroughOnException(): void
}

const { apply, construct } = Reflect
const { round } = Math
const now = performance.now.bind(performance)
const parse = JSON.parse
const textDecoder = new TextDecoder()
const decodeText = textDecoder.decode.bind(textDecoder)
const NativeResponse = Response
const HTTP_IMPORT = /["'](?:node:)?https?["']/
const WITH_STACKS = { stacks: true }

/** A program that a machine has. */
export interface LoadedProgram extends GuestProgram {
  /** Its environment, as {@linkcode encodeValue} makes it; null: an empty one. */
  readonly env: Uint8Array<ArrayBuffer> | null
  /** What it may ask of the host. */
  readonly reach: ReachNames | undefined
}

/**
 * The handlers of a runner; `loaded` is the program that it has, where it has one. `beforeRequest` sets what is called before each wait
 * for a request. Rejects with what the program throws.
 */
export async function createRunner(
  evaluate: Evaluate,
  loaded: LoadedProgram | null,
  toReach: ToReach,
  beforeRequest: (callback: () => void) => void,
) {
  const ownJoins = loaded !== null && usesHttp(loaded)
  /** What a program finds in its environment: data, and what it may call. Its `fetch` asks the host. */
  const toEnv = (env: Environment, names: ReachNames | undefined, program?: GuestProgram): Environment => {
    if (names === undefined) return env
    const reach = toReach(names, program === undefined ? ownJoins : usesHttp(program))
    setFetch(reach.fetch)
    return { ...env, ...reach.env }
  }
  setFetch(toReach(loaded?.reach, ownJoins).fetch)
  const namespace = loaded === null ? null : await evaluate(loaded)
  const open = (program: GuestProgram | undefined) => program === undefined ? namespace! : evaluate(program)
  const ownEnv = loaded?.env ?? null
  /** Made anew, so that no call of the warm-up has changed it. */
  const makeEnv = () => toEnv(ownEnv === null ? {} : decodeValue(ownEnv) as Environment, loaded?.reach)
  let nextEnv: Environment | null = null
  if (loaded !== null) beforeRequest(() => nextEnv ??= makeEnv())
  const takeEnv = () => {
    const env = nextEnv ?? makeEnv()
    nextEnv = null
    return env
  }

  async function call(ctx: RunnerContext): Promise<Response> {
    const { head: { body }, send } = ctx
    let answer: CallAnswer
    let loadMicros = 0
    const start = now()
    try {
      const call = fromCallMessage(decodeValue(body) as CallMessage)
      const env = call.env === undefined ? takeEnv() : toEnv(call.env, call.reach, call.program)
      const program = await open(call.program)
      loadMicros = microsSince(start)
      answer = [true, await answerCall(program, call, env), loadMicros]
    } catch (error) {
      answer = [false, error, loadMicros || microsSince(start)]
    }
    return respond(send, answer)
  }

  async function fetch(ctx: RunnerContext): Promise<Response> {
    const { head } = ctx
    const call = decodeValue(head.body) as FetchCall
    const { program, entrypoint, props, body } = call
    const env = call.env === undefined ? takeEnv() : toEnv(call.env, call.reach, call.program)
    head.body = body
    return await answerFetch(await open(program), entrypoint, env, props, ctx.request)
  }

  function plainFetch({ request }: RunnerContext): Promise<Response> {
    return answerFetch(namespace!, 'default', takeEnv(), undefined, request)
  }

  function propsFetch(ctx: RunnerContext): Promise<Response> {
    const { head } = ctx
    const { body } = head
    const end = PROPS_HEAD_BYTES + (body[0]! | body[1]! << 8 | body[2]! << 16 | body[3]! << 24)
    const props = parse(decodeText(body.subarray(PROPS_HEAD_BYTES, end)))
    head.body = body.subarray(end)
    return answerFetch(namespace!, 'default', takeEnv(), props, ctx.request)
  }

  return { call, fetch, plainFetch, propsFetch }
}

/** Whole ones: a fraction takes long to be written. */
function microsSince(start: number): number {
  return round((now() - start) * 1000)
}

/** Whether its clients of HTTP may be others than `fetch`. */
function usesHttp({ modules }: GuestProgram): boolean {
  return modules.some(([, , content]) => typeof content === 'string' && HTTP_IMPORT.test(content))
}

async function answerFetch(
  namespace: Namespace,
  entrypoint: string,
  env: Environment,
  props: unknown,
  request: Request,
): Promise<Response> {
  const work: unknown[] = []
  const context = toContext(props, work)
  const target = toTarget(namespace, entrypoint, env, context)
  const response = await apply(methodOf(target, 'fetch', entrypoint), target, [request, env, context])
  if (work.length > 0) await Promise.all(work)
  return response as Response
}

function setFetch(value: typeof fetch): void {
  Object.defineProperty(globalThis, 'fetch', { value, writable: true, configurable: true })
}

function respond(send: RunnerContext['send'], answer: CallAnswer): Response {
  let encoded
  try {
    encoded = encodeValue(answer, WITH_STACKS)
  } catch (error) {
    encoded = encodeValue([false, error, answer[2]], WITH_STACKS)
  }
  return encoded.raw.length === 0 ? send.text(encoded.text) : new NativeResponse(joinMessage(encoded))
}

async function answerCall(
  namespace: Namespace,
  { entrypoint, method, args, props }: Call,
  env: Environment,
) {
  if (entrypoint === null) return Object.keys(namespace)
  const work: unknown[] = []
  let value
  if (method === undefined) {
    const exported = exportOf(namespace, entrypoint)
    const self = toSelf(props, work, env)
    if (typeof exported === 'function') value = await apply(exported as Method, self, args as unknown[])
    else if (args.length === 0) value = await exported
    else throw new TypeError(`Cannot call '${entrypoint}': it is ${typeof exported}, want a function`)
  } else {
    const isOwn = entrypoint === 'default' && typeof namespace[method] === 'function'
    const target = isOwn ? namespace : toTarget(namespace, entrypoint, env, toContext(props, work))
    value = await apply(
      methodOf(target, method, entrypoint),
      isOwn ? toSelf(props, work, env) : target,
      args as unknown[],
    )
  }
  if (work.length > 0) await Promise.all(work)
  return value
}

function exportOf(namespace: Namespace, name: string): unknown {
  if (name in namespace) return namespace[name]
  const names = Object.keys(namespace).join(', ')
  throw new TypeError(
    `Cannot call '${name}': the program does not export it, want one of its exports: ${
      names || 'it has none'
    }`,
  )
}

/** The object of an entry point: the export, an object of the class that it is, or, for the default one, the module's own functions. */
function toTarget(
  namespace: Namespace,
  entrypoint: string,
  env: Environment,
  context: ExecutionContext,
): object {
  const exported = exportOf(namespace, entrypoint)
  if (isClass(exported)) return construct(exported, [context, env]) as object
  if ((typeof exported === 'object' && exported !== null) || typeof exported === 'function') return exported
  throw new TypeError(
    `Cannot use the entry point '${entrypoint}': it is ${typeof exported}, want an object or a class`,
  )
}

function isClass(value: unknown): value is new (...args: unknown[]) => unknown {
  if (typeof value !== 'function') return false
  const descriptor = Object.getOwnPropertyDescriptor(value, 'prototype')
  return descriptor !== undefined && !descriptor.writable
}

/** A function of an entry point by its name: nothing that every object has. */
function methodOf(target: object, name: string, entrypoint: string): Method {
  const value = name in Object.prototype ? undefined : (target as Record<string, unknown>)[name]
  if (typeof value === 'function') return value as Method
  throw new TypeError(
    `Cannot call '${name}' of the entry point '${entrypoint}': it is ${typeof value}, want a function`,
  )
}

function toContext(props: unknown, work: unknown[]): ExecutionContext {
  return {
    props,
    waitUntil: (promise) => void work.push(promise),
    passThroughOnException: () => {},
  }
}

/** What a function of a module finds as `this`. Written out: QuickJS copies members one by one. */
function toSelf(props: unknown, work: unknown[], env: Environment): ExecutionContext & { env: Environment } {
  return {
    props,
    waitUntil: (promise) => void work.push(promise),
    passThroughOnException: () => {},
    env,
  }
}
