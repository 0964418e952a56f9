/** What a route file says about its isolation. */
import { isGrant, WANTED_GRANTS } from './grants.ts'
import {
  CALLS_DEFAULT,
  CLOCK_MAX_US,
  DESCRIPTORS_DEFAULT,
  DESCRIPTORS_MAX,
  LOG_DEFAULT,
  MAPPINGS_MAX,
  OUTPUT_DEFAULT,
  QUEUE_MAX,
  STREAM_BYTES_DEFAULT,
  STREAM_BYTES_MAX,
  STREAM_IDLE_MS_DEFAULT,
  STREAM_MS_DEFAULT,
  STREAM_MS_MAX,
  THREADS_DEFAULT,
  THREADS_MAX,
  WORKERS_MAX,
} from './native_tables.ts'
import { isWarmupPath } from '../warm/warmup_file.ts'
import { findEntryFault, MAX_WARMUP_REQUESTS, type WarmupRequest } from '../warm/warmup_request.ts'
import { BODY_MAX } from '../wire/wire.ts'
import { originsRule, toOriginSet } from '../../reach/streams/allowed_origins.ts'
import { findFaults, optionError, throwFaults } from '../../options/check.ts'
import { type AllSet, withDefaults } from '../../options/resolve.ts'
import {
  type FaultClass,
  flag,
  integer,
  isObject,
  object,
  oneOf,
  type OptionRule,
  type OptionRules,
  rule,
} from '../../options/rule.ts'

/**
 * What a request may hold and do, beside its time and memory. `files`, `threads` and `mappings` count what Deno itself needs,
 * and what code at the top of a module took before the snapshot.
 */
export interface IsolateLimits {
  /** Open descriptors; one more is EMFILE. Default 1024. */
  readonly files?: number | undefined
  /** Threads; one more is EAGAIN. Default 64. */
  readonly threads?: number | undefined
  /** Mappings of memory; one more is ENOMEM. Default 65 530, as in Linux. */
  readonly mappings?: number | undefined
  /** System calls; one more ends the request with 502. Default 1 000 000. */
  readonly systemCalls?: number | undefined
  /** Bytes written to the console and standard error; the rest is dropped. Default 64 KiB. */
  readonly logBytes?: number | undefined
  /** Milliseconds that a stream may live behind its head: a response's body that comes piece by piece. Default 600 000. */
  readonly streamMs?: number | undefined
  /** Milliseconds for which nothing of a stream may move on, because of the handler or of the client. Default 60 000. */
  readonly streamIdleMs?: number | undefined
  /** Bytes of a stream. Default 64 MiB. */
  readonly streamBytes?: number | undefined
}

/**
 * What runs a handler in its machine: `deno`, all of stock Deno and V8's speed; `core`, a small interpreter with the Web's
 * most used interfaces, whose machines are small and quick to start.
 */
export type IsolateRuntime = 'deno' | 'core'

/** What runs in a machine: one of the runtimes with handlers, or a program of its own. */
export type ProgramRuntime = IsolateRuntime | 'native'

/** Options of an isolated route, written as literals: `export const isolated = { timeoutMs: 500 }`. */
export interface IsolateOptions {
  /** Default `deno`, or that of the router. */
  readonly runtime?: IsolateRuntime | undefined
  /**
   * A Linux program in place of handlers, by its path from the file: `./hello`. It answers what is asked at the file's pattern and below
   * it, by the frames of `mayfly.h`. Then `runtime`, `outbound` and `group` say nothing.
   */
  readonly program?: string | undefined
  /** Milliseconds that a request may run. Default 1000, or that of the router. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds that a request may have a CPU, whatever else the host does meanwhile. Default: no limit but `timeoutMs`. */
  readonly cpuMs?: number | undefined
  /** Memory in MiB that a request may use. Default 128, or that of the router. */
  readonly memoryMb?: number | undefined
  /** Bytes of the response's body. Default 8 MiB. */
  readonly outputBytes?: number | undefined
  /** Requests that run before the snapshot: how many for each handler, which ones, or the file that lists them. Default 1000. */
  readonly warmup?: number | string | readonly WarmupRequest[] | undefined
  /** Reset after every request. Default true; false keeps state between requests, and so between users. */
  readonly ephemeral?: boolean | undefined
  /** Names of environment variables that the handlers may read. Default none. */
  readonly env?: readonly string[] | undefined
  /**
   * What the handlers may do beyond their own response: `session`, `cookies`, `state`, `headers:NAME` or `headers:*`. Default none.
   */
  readonly may?: readonly string[] | undefined
  /**
   * Origins whose pages may open WebSockets of the handlers, as `https://example.com`; `*` is each, and clients that are no page. Default:
   * the route's own, and clients that are no page.
   */
  readonly allowedOrigins?: string | readonly string[] | undefined
  /** Names of the router's bindings that the handlers may call, by `ctx.env`; a program, by `mayfly_call`. Default none. */
  readonly bindings?: readonly string[] | undefined
  /** Whether `fetch` of the handlers reaches what the router's `isolate.outbound` allows. Default false. */
  readonly outbound?: boolean | undefined
  /**
   * Microseconds by which all clocks of the handler move on, so that it cannot time what is shorter; each reading then costs a
   * system call. Default 0: exact.
   */
  readonly coarseClockUs?: number | undefined
  /** Further limits; those that are left out are the router's, or their defaults. */
  readonly limits?: IsolateLimits | undefined
  /**
   * Files of one group are one program, and share what their modules keep; their options must be equal, `warmup` aside. Default: each
   * file is a program of its own.
   */
  readonly group?: string | undefined
}

/** Options with their defaults; `cpuMs` is 0 for no limit, `group` null for a file by itself, `program` null for handlers. */
export type ResolvedIsolateOptions = Readonly<
  AllSet<Omit<IsolateOptions, 'runtime' | 'limits' | 'group' | 'program' | 'allowedOrigins'>> & {
    /** Null: the route's own. */
    allowedOrigins: readonly string[] | null
    runtime: ProgramRuntime
    limits: Readonly<AllSet<IsolateLimits>>
    group: string | null
    program: string | null
  }
>

/** What the router gives for all of its routes that say nothing else. */
export interface IsolateDefaults {
  /** What runs them. Default `deno`. */
  readonly runtime?: IsolateRuntime | undefined
  /** Milliseconds that a request may run. Default 1000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds that a request may have a CPU. Default: no limit but `timeoutMs`. */
  readonly cpuMs?: number | undefined
  /** Memory of one request in MiB. Default 128. */
  readonly memoryMb?: number | undefined
  /** Microseconds by which the clocks of handlers move on. Default 0: exact. */
  readonly coarseClockUs?: number | undefined
  /** Further limits. */
  readonly limits?: IsolateLimits | undefined
}

/** Limits of a route for which neither it nor the router says others. */
export const DEFAULT_LIMITS: Readonly<AllSet<IsolateLimits>> = Object.freeze({
  files: DESCRIPTORS_DEFAULT,
  threads: THREADS_DEFAULT,
  mappings: MAPPINGS_MAX,
  systemCalls: CALLS_DEFAULT,
  logBytes: LOG_DEFAULT,
  streamMs: STREAM_MS_DEFAULT,
  streamIdleMs: STREAM_IDLE_MS_DEFAULT,
  streamBytes: STREAM_BYTES_DEFAULT,
})

/** Options of a route for which neither it nor the router says others; without `cpuMs` there is no limit. */
const ROUTER_DEFAULTS = {
  runtime: 'deno',
  timeoutMs: 1000,
  cpuMs: 0,
  memoryMb: 128,
  coarseClockUs: 0,
} as const

/** Requests that warm a handler up when the route names none. */
export const DEFAULT_WARMUP = 1000

const MAX_WARMUP = 100_000
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const BINDING = /^[A-Za-z_$][\w$]{0,127}$/
const GROUP = /^[\w-]{1,64}$/
const PROGRAM = /^\.\.?\/[^\0]+$/
/** What is of handlers, and not of a program in their place. */
const OF_HANDLERS = ['runtime', 'outbound', 'group'] as const

/** What the limits must be. */
export const LIMIT_RULES: OptionRules<IsolateLimits> = {
  files: integer(64, DESCRIPTORS_MAX),
  threads: integer(40, THREADS_MAX),
  mappings: integer(4096, MAPPINGS_MAX),
  systemCalls: integer(1, 1_000_000_000),
  logBytes: integer(0, 16 << 20),
  streamMs: integer(1, STREAM_MS_MAX),
  streamIdleMs: integer(1, STREAM_MS_MAX),
  streamBytes: integer(1, STREAM_BYTES_MAX),
}

/** What the router may give for all of its routes. */
export const DEFAULT_RULES: OptionRules<IsolateDefaults> = {
  runtime: oneOf('deno', 'core'),
  timeoutMs: integer(1, 600_000),
  cpuMs: integer(1, 600_000),
  memoryMb: integer(16, 4096),
  coarseClockUs: integer(0, CLOCK_MAX_US),
  limits: object(LIMIT_RULES),
}

/** Requests under way that have a machine each. */
const PARKED_MAX = 16_384
/** MiB of their machines: 16 TiB. */
const PARKED_MB_MAX = 1 << 24

/** What the router may say of its machines. */
export const MACHINE_RULES: OptionRules<
  { vms?: number; queue?: number; memoryBudgetMb?: number; parked?: unknown }
> = {
  vms: integer(1, WORKERS_MAX),
  queue: integer(1, QUEUE_MAX),
  memoryBudgetMb: integer(1),
  parked: object({
    each: integer(1, PARKED_MAX),
    all: integer(1, PARKED_MAX),
    eachMb: integer(1, PARKED_MB_MAX),
    allMb: integer(1, PARKED_MB_MAX),
  }),
}

/** Machines where the router does not say how many. */
export function defaultMachines(): number {
  return Math.min(navigator.hardwareConcurrency, WORKERS_MAX)
}

/** What `outputBytes` must be. */
export const OUTPUT_RULE: OptionRule = integer(0, BODY_MAX)

const RULES: OptionRules<IsolateOptions> = {
  ...DEFAULT_RULES,
  outputBytes: OUTPUT_RULE,
  warmup: {
    wanted:
      `an integer from 0 to ${MAX_WARMUP}, a file as './users.warmup.json', or an array of at most ${MAX_WARMUP_REQUESTS} { method, path, headers, body }`,
    check: checkWarmup,
    explain: explainWarmup,
  },
  ephemeral: flag(),
  program: rule(
    "the path of a Linux program from the file, as './hello'",
    (value) => typeof value === 'string' && PROGRAM.test(value),
  ),
  env: rule(
    'an array of names of environment variables, and none that configures Deno itself',
    (value) => Array.isArray(value) && value.every(isName),
  ),
  bindings: rule(
    'an array of names of bindings of the router',
    (value) => Array.isArray(value) && value.every((name) => typeof name === 'string' && BINDING.test(name)),
  ),
  outbound: flag(),
  allowedOrigins: originsRule({ star: true }),
  may: rule(WANTED_GRANTS, (value) => Array.isArray(value) && value.every(isGrant)),
  group: rule(
    'a name of 1 to 64 letters, digits, _ and -',
    (value) => typeof value === 'string' && GROUP.test(value),
  ),
}

/** Variables that the program of a guest is started with; a handler that could name them would change how it runs. */
const OWN_VARIABLES = /^(?:DENO_|V8_|LD_|HOME$|PATH$|NO_COLOR$|RUST_)/

/**
 * Checks the value of `export const isolated` and fills in the defaults; `file` names it in errors. Throws `TypeError` or
 * `RangeError` that lists every fault.
 */
export function resolveIsolateOptions(
  file: string,
  value: unknown,
  defaults: IsolateDefaults = {},
): ResolvedIsolateOptions {
  const options = value === true ? {} : value
  const attempt = `isolate ${file}`
  if (!isObject(options)) throw optionError(attempt, 'isolated', options, 'true or an object of options')
  throwFaults(attempt, findFaults(options, RULES, 'isolated.'))
  const given: IsolateOptions = options
  checkProgram(attempt, given)
  const { allowedOrigins } = given
  const { env, may, bindings, ...others } = withDefaults(given, {
    ...withDefaults(defaults, ROUTER_DEFAULTS),
    outputBytes: OUTPUT_DEFAULT,
    warmup: DEFAULT_WARMUP,
    ephemeral: true,
    env: [],
    may: [],
    bindings: [],
    allowedOrigins: undefined,
    outbound: false,
  })
  return {
    ...others,
    runtime: given.program === undefined ? others.runtime : 'native',
    program: given.program ?? null,
    group: given.group ?? null,
    env: [...new Set(env)].sort(),
    bindings: [...new Set(bindings)].sort(),
    allowedOrigins: allowedOrigins === undefined ? null : [...toOriginSet(allowedOrigins)].sort(),
    may: [...new Set(may.map((grant) => grant.toLowerCase()))].sort(),
    limits: withDefaults(given.limits ?? {}, withDefaults(defaults.limits ?? {}, DEFAULT_LIMITS)),
  }
}

/** Refuses what says something of handlers where a program takes their place. */
function checkProgram(attempt: string, given: IsolateOptions): void {
  if (given.program === undefined) return
  const name = OF_HANDLERS.find((name) => given[name] !== undefined && given[name] !== false)
  if (name === undefined) return
  throw optionError(attempt, `isolated.${name}`, given[name], 'nothing beside isolated.program')
}

/** The first option in which two files differ that cannot share a program so; null where they can. Warm-up is each file's own. */
export function findDifference(
  a: ResolvedIsolateOptions,
  b: ResolvedIsolateOptions,
): keyof ResolvedIsolateOptions | null {
  const names = Object.keys(a) as (keyof ResolvedIsolateOptions)[]
  const differs = (name: keyof ResolvedIsolateOptions) => JSON.stringify(a[name]) !== JSON.stringify(b[name])
  return names.find((name) => name !== 'warmup' && differs(name)) ?? null
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value) && !OWN_VARIABLES.test(value)
}

function checkWarmup(value: unknown): FaultClass | undefined {
  if (typeof value === 'string') return isWarmupPath(value) ? undefined : TypeError
  if (!Array.isArray(value)) return integer(0, MAX_WARMUP).check(value)
  if (value.length > MAX_WARMUP_REQUESTS) return RangeError
  return value.some((entry) => findEntryFault(entry) !== undefined) ? TypeError : undefined
}

function explainWarmup(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  for (const [index, entry] of value.entries()) {
    const fault = findEntryFault(entry)
    if (fault !== undefined) return `has an entry ${index + 1} that is none: ${fault}`
  }
  return undefined
}
