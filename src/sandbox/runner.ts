/**
 * Programs for the machines: the runner, which waits for code, and a program that was given, with the same handlers around it.
 *
 * ```text
 * guest/runner.ts + engine of the runtime  -> esbuild, once -> text with marks
 *   marks filled in with limits and `null` -> runner: takes the program with each call
 *   marks filled in with limits and a program -> that program alone, loaded before the snapshot
 * ```
 */
import { fromFileUrl } from '@std/path'
import { hexDigest } from '../context/hex_digest.ts'
import type { NativeCode } from './code.ts'
import { bundleOwn, bundleRuntime, RUNTIME_FILE } from '../isolate/bundle/bundle.ts'
import type { IsolateRuntime } from '../isolate/plan/options.ts'
import {
  GUEST_PATH,
  guestArguments,
  guestEnvironment,
  type HandlerOptions,
  type IsolatedRoute,
  type Program,
  type ProgramOptions,
} from '../isolate/plan/program.ts'
import { createSeed, encodeRequest } from '../isolate/wire/request_frame.ts'
import { createStackMapper } from '../isolate/plan/stack.ts'
import type { Warmup } from '../isolate/warm/warmup.ts'
import {
  type Call,
  CALL_HANDLER,
  type CallMessage,
  FETCH_HANDLER,
  type FetchCall,
  type GuestProgram,
  PLAIN_FETCH_HANDLER,
  PROPS_FETCH_HANDLER,
  PROPS_HEAD_BYTES,
  toCallMessage,
} from './message.ts'
import type { ReachNames } from '../reach/calls/protocol.ts'
import { encodeValue, joinMessage } from '../values/encode.ts'

/** What a runner is made for. */
export interface RunnerKind {
  readonly options: HandlerOptions
  /** It can read TypeScript; in stock Deno all can. */
  readonly typed: boolean
}

const GUEST = new URL('./guest/', import.meta.url)
/** What `createRunner` gives, by its number on the wire. */
const HANDLERS = ['call', 'fetch', 'plainFetch', 'propsFetch'] as const
const PROGRAM_MARK = '__MAYFLY_PROGRAM__'
const OUTPUT_MARK = '__MAYFLY_OUTPUT_BYTES__'
const LOG_MARK = '__MAYFLY_LOG_BYTES__'

const texts = new Map<string, Promise<string>>()

/** A machine that waits for code. Rejects where Mayfly's own modules cannot be bundled. */
export async function planRunner(kind: RunnerKind): Promise<Program> {
  const options = { ...kind.options, timeoutMs: WARMUP_MS }
  return await toProgram('the sandbox', { ...kind, options }, null, warmRunner(kind), '')
}

/** A program for a machine of its own. */
export interface ProgramSource {
  readonly program: GuestProgram
  readonly env: Readonly<Record<string, unknown>>
  readonly names: ReachNames | undefined
}

/**
 * A machine that has a program. `warmup` are calls that it had, as {@linkcode toCallFrame} makes them. Isolates of the process share those
 * of equal code and `owner`: what a warm-up leaves in memory is one owner's.
 */
export async function planLoaded(
  name: string,
  kind: RunnerKind,
  source: ProgramSource,
  warmup: readonly Warmup[],
  owner: string,
): Promise<Program> {
  return await toProgram(name, kind, source, warmup, owner)
}

async function toProgram(
  name: string,
  kind: RunnerKind,
  source: ProgramSource | null,
  warmup: readonly Warmup[],
  owner: string,
): Promise<Program> {
  const { options } = kind
  const text = fill(await readText(kind), options, source)
  const code = new TextEncoder().encode(text)
  const runtime = await bundleRuntime(options.runtime)
  const hash = await hexDigest(JSON.stringify([owner, options]), text)
  const route: IsolatedRoute = { file: name, path: name, pattern: '/', methods: [], mount: false }
  return {
    hash,
    id: hash.slice(0, 12),
    options,
    handlers: HANDLERS.map((method) => ({ route, method })),
    files: [name],
    bundle: { code, map: '', inputs: [], missing: [] },
    runtime,
    args: guestArguments(options, GUEST_PATH),
    env: guestEnvironment(options, () => undefined),
    warmup,
    probes: [],
    stacks: createStackMapper({}),
  }
}

/** A machine that runs a Linux program; isolates of the process share those of equal bytes and `owner`. */
export async function planNative(
  name: string,
  handlerOptions: HandlerOptions,
  { path, bytes, env }: NativeCode,
  owner: string,
): Promise<Program> {
  const options: ProgramOptions = { ...handlerOptions, runtime: 'native' }
  const hash = await hexDigest(bytes, JSON.stringify([owner, options, path, env]))
  const route: IsolatedRoute = { file: name, path: name, pattern: '/', methods: [], mount: true }
  return {
    hash,
    id: hash.slice(0, 12),
    options,
    handlers: [{ route, method: null }],
    files: [name],
    bundle: { code: bytes, map: '', inputs: [], missing: [] },
    runtime: { code: new Uint8Array(0), map: '', inputs: [], missing: [] },
    args: [],
    env,
    executable: path,
    warmup: [],
    probes: [],
    stacks: createStackMapper({}),
  }
}

function readText(kind: RunnerKind): Promise<string> {
  const { options: { runtime } } = kind
  const key = `${runtime} ${runtime === 'core' && kind.typed}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const made = bundleOwn(runtime, toEntry(runtime, kind.typed)).then(
    ({ code }) => new TextDecoder().decode(code),
  )
  made.catch(() => texts.delete(key))
  texts.set(key, made)
  return made
}

function toEntry(runtime: IsolateRuntime, typed: boolean): string {
  const engine = runtime === 'deno' ? `import { evaluate } from ${own('deno_engine.ts')}` : `
import { defineModule, runModule } from './${RUNTIME_FILE}'
import { createEvaluate } from ${own('core_engine.ts')}
${typed ? `import { stripTypes } from ${own('strip_types.ts')}` : 'const stripTypes = null'}
const evaluate = createEvaluate(defineModule, runModule, stripTypes)`
  return `import { beforeRequest, serve, toReach } from './${RUNTIME_FILE}'
import { createRunner } from ${own('runner.ts')}
${engine}
globalThis.Deno?.permissions?.revokeSync({ name: 'read' })
serve({
  outputBytes: ${OUTPUT_MARK},
  logBytes: ${LOG_MARK},
  modules: [() => createRunner(evaluate, ${PROGRAM_MARK}, toReach, beforeRequest)],
  handlers: ${JSON.stringify(HANDLERS.map((name) => ({ name: 'the program', module: 0, export: name })))},
})
`
}

function own(name: string): string {
  return JSON.stringify(fromFileUrl(new URL(name, GUEST)))
}

function fill(
  text: string,
  { outputBytes, limits }: HandlerOptions,
  source: ProgramSource | null,
): string {
  const values: Readonly<Record<string, () => string>> = {
    [OUTPUT_MARK]: () => `${outputBytes}`,
    [LOG_MARK]: () => `${limits.logBytes}`,
    [PROGRAM_MARK]: () => source === null ? 'null' : toLiteral(source),
  }
  return text.replaceAll(/__MAYFLY_[A-Z_]+__/g, (mark) => values[mark]!())
}

/** A program as an expression of JavaScript. */
function toLiteral({ program: { main, modules }, env, names }: ProgramSource): string {
  const entries = modules.map(([name, kind, content]) => {
    const text = typeof content === 'string' ? JSON.stringify(content) : toByteLiteral(content)
    return `[${JSON.stringify(name)}, ${JSON.stringify(kind)}, ${text}]`
  })
  const isEmpty = Object.keys(env).length === 0
  const bytes = isEmpty ? 'null' : toByteLiteral(joinMessage(encodeValue(env, { stacks: false })))
  return `{ main: ${JSON.stringify(main)}, modules: [${entries.join(', ')}], env: ${bytes}, reach: ${
    JSON.stringify(names)
  } }`
}

function toByteLiteral(bytes: Uint8Array): string {
  return `Uint8Array.from(${JSON.stringify(toLatin1(bytes))}, (byte) => byte.charCodeAt(0))`
}

function toLatin1(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4096) {
    text += String.fromCharCode(...bytes.subarray(at, at + 4096))
  }
  return text
}

/** A frame that calls a program. */
export function toCallFrame(call: Call): Uint8Array<ArrayBuffer> {
  return toFrame(CALL_HANDLER, 'POST', 'http://sandbox/', [], toCallMessage(call))
}

/**
 * A frame that asks a program for a response. `hasRest`: more of the request's body comes behind it. Members come in one order, whoever
 * asks: V8 takes another order for another shape, and a warm-up knows one.
 */
export function toFetchFrame(
  request: Request,
  { program, entrypoint, env, props, reach, body }: FetchCall,
  hasRest = false,
): Uint8Array<ArrayBuffer> {
  const call: FetchCall = { program, entrypoint, env, props, reach, body }
  return toFrame(FETCH_HANDLER, request.method, request.url, [...request.headers], call, hasRest)
}

export interface PlainFetchOptions {
  readonly props?: string | undefined
  /** More of the request's body comes behind it. */
  readonly hasRest?: boolean
}

/**
 * A frame that asks the default export of a program that the machine has, which gets nothing but the request, and props as
 * {@linkcode toPlainProps} gives them.
 */
export function toPlainFetchFrame(
  { method, url, headers }: Request,
  body: Uint8Array,
  { props, hasRest = false }: PlainFetchOptions = {},
): Uint8Array<ArrayBuffer> {
  const path = new URL(url).pathname
  const handler = props === undefined ? PLAIN_FETCH_HANDLER : PROPS_FETCH_HANDLER
  return encodeRequest(
    { handler, method, url, path, headers: [...headers], seed: createSeed(), hasRest: hasRest || undefined },
    props === undefined ? body : withProps(props, body),
  )
}

/** Props as JSON; null for those that need a structured clone: only an object of texts, numbers and booleans is as good as one. */
export function toPlainProps(props: unknown): string | null {
  if (typeof props !== 'object' || props === null) return null
  const prototype = Object.getPrototypeOf(props)
  if (prototype !== Object.prototype && prototype !== null) return null
  for (const [name, value] of Object.entries(props)) {
    const isPlain = value === undefined || typeof value === 'string' || typeof value === 'boolean' ||
      (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0))
    if (!isPlain || name === 'toJSON' || name === '__proto__') return null
  }
  return JSON.stringify(props)
}

function withProps(props: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(props)
  const bytes = new Uint8Array(PROPS_HEAD_BYTES + text.length + body.length)
  new DataView(bytes.buffer).setUint32(0, text.length, true)
  bytes.set(text, PROPS_HEAD_BYTES)
  bytes.set(body, PROPS_HEAD_BYTES + text.length)
  return bytes
}

function toFrame(
  handler: number,
  method: string,
  url: string,
  headers: readonly (readonly [string, string])[],
  message: CallMessage | FetchCall,
  hasRest = false,
): Uint8Array<ArrayBuffer> {
  const body = joinMessage(encodeValue(message, { stacks: false }))
  const path = new URL(url).pathname
  return encodeRequest(
    { handler, method, url, path, headers, seed: createSeed(), hasRest: hasRest || undefined },
    body,
  )
}

/** Longest single run of a sample. They end; a host that is busy must not make a runner that is cold for ever. */
const WARMUP_MS = 60_000
/** Runs of each sample before the snapshot of a runner. */
const WARMUP_RUNS = 150

/** What runs before the snapshot of a runner: programs of each kind of module, values, errors, responses. */
function warmRunner({ options: { runtime }, typed }: RunnerKind): Warmup[] {
  const common = {
    entrypoint: 'default',
    method: undefined,
    args: [],
    env: {},
    props: undefined,
    reach: undefined,
  }
  const js = (text: string) => ({ main: 'main.js', modules: [['main.js', 'js', text]] }) as const
  const calls: Omit<Call, 'entrypoint' | 'env' | 'props' | 'method' | 'reach'>[] = [
    { program: js('export default (a, b) => a + b'), args: [1, 2] },
    { program: js('export default () => ({ list: [1, "two", new Date(3), new Map([[4, 5]])] })'), args: [] },
    { program: js('export default () => {\n  throw new TypeError("no")\n}'), args: [] },
    {
      program: {
        main: 'main.js',
        modules: [
          [
            'main.js',
            'js',
            'import { f } from "./lib.js"\nimport data from "./data.json"\nexport default () => f(data)',
          ],
          ['lib.js', 'js', 'export const f = async ({ a }) => { console.debug(a); return a }'],
          ['data.json', 'json', '{ "a": 1 }'],
        ],
      },
      args: [],
    },
  ]
  if (typed || runtime === 'deno') {
    const text = 'interface A { b: number }\nexport default (a: A): number => a.b * 2'
    calls.push({ program: { main: 'main.ts', modules: [['main.ts', 'ts', text]] }, args: [{ b: 1 }] })
  }
  const fetches = js('export default { fetch: (request, env) => new Response(request.url + env.NAME) }')
  return [
    ...calls.map((call, index) => ({
      handler: CALL_HANDLER,
      frame: toCallFrame({ ...common, ...call }),
      count: WARMUP_RUNS,
      tried: index === 0 ? 'a function' : null,
    })),
    {
      handler: FETCH_HANDLER,
      frame: toFetchFrame(new Request('http://sandbox/path?query=1'), {
        program: fetches,
        entrypoint: 'default',
        env: { NAME: 'x' },
        props: undefined,
        reach: undefined,
        body: new Uint8Array(0),
      }),
      count: WARMUP_RUNS,
      tried: 'a response',
    },
  ]
}
