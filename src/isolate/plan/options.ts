/** What a route file says about its isolation. */
import { isGrant, WANTED_GRANTS } from './grants.ts'
import { isWarmupPath } from '../warm/warmup_file.ts'
import { findEntryFault, MAX_WARMUP_REQUESTS, type WarmupRequest } from '../warm/warmup_request.ts'
import { BODY_MAX } from '../wire/wire.ts'

/**
 * What a request may hold and do, beside its time and memory. `files`, `threads` and `mappings` count what Deno itself needs,
 * and what code at the top of a module took before the snapshot.
 */
export interface IsolateLimits {
  /** Open descriptors; one more is EMFILE. Default 1024. */
  readonly files?: number
  /** Threads; one more is EAGAIN. Default 64. */
  readonly threads?: number
  /** Mappings of memory; one more is ENOMEM. Default 65 530, as in Linux. */
  readonly mappings?: number
  /** System calls; one more ends the request with 502. Default 1 000 000. */
  readonly systemCalls?: number
  /** Bytes written to the console and standard error; the rest is dropped. Default 64 KiB. */
  readonly logBytes?: number
}

/**
 * What runs a handler in its machine: `deno`, all of stock Deno and V8's speed; `core`, a small interpreter with the Web's
 * most used interfaces, whose machines are small and quick to start.
 */
export type IsolateRuntime = 'deno' | 'core'

/** Options of an isolated route, written as literals: `export const isolated = { timeoutMs: 500 }`. */
export interface IsolateOptions {
  /** Default `deno`, or that of the router. */
  readonly runtime?: IsolateRuntime
  /** Milliseconds that a request may run. Default 1000, or that of the router. */
  readonly timeoutMs?: number
  /** Milliseconds that a request may have a CPU, whatever else the host does meanwhile. Default: no limit but `timeoutMs`. */
  readonly cpuMs?: number
  /** Memory in MiB that a request may use. Default 128, or that of the router. */
  readonly memoryMb?: number
  /** Bytes of the response's body. Default 8 MiB. */
  readonly outputBytes?: number
  /** Requests that run before the snapshot: how many for each handler, which ones, or the file that lists them. Default 1000. */
  readonly warmup?: number | string | readonly WarmupRequest[]
  /** Reset after every request. Default true; false keeps state between requests, and so between users. */
  readonly ephemeral?: boolean
  /** Names of environment variables that the handlers may read. Default none. */
  readonly env?: readonly string[]
  /**
   * What the handlers may do beyond their own response: `session`, `cookies`, `state`, `headers:NAME` or `headers:*`. Default none.
   */
  readonly may?: readonly string[]
  /**
   * Microseconds by which all clocks of the handler move on, so that it cannot time what is shorter; each reading then costs a
   * system call. Default 0: exact.
   */
  readonly coarseClockUs?: number
  /** Further limits; those that are left out are the router's, or their defaults. */
  readonly limits?: IsolateLimits
  /**
   * Files of one group are one program, and share what their modules keep; their options must be equal, `warmup` aside. Default: each
   * file is a program of its own.
   */
  readonly group?: string
}

/** Options with their defaults; `cpuMs` is 0 for no limit, `group` null for a file by itself. */
export type ResolvedIsolateOptions = Readonly<
  Required<Omit<IsolateOptions, 'limits' | 'group'>> & {
    limits: Readonly<Required<IsolateLimits>>
    group: string | null
  }
>

/** What the router gives for all of its routes. */
export interface IsolateDefaults {
  readonly runtime?: IsolateRuntime
  readonly timeoutMs?: number
  readonly cpuMs?: number
  readonly memoryMb?: number
  readonly coarseClockUs?: number
  readonly limits?: IsolateLimits
}

/** Limits of a route for which neither it nor the router says others. */
export const DEFAULT_LIMITS: Readonly<Required<IsolateLimits>> = Object.freeze({
  files: 1024,
  threads: 64,
  mappings: 65_530,
  systemCalls: 1_000_000,
  logBytes: 65_536,
})

/** Requests that warm a handler up when the route names none. */
export const DEFAULT_WARMUP = 1000

/** How a value is checked. */
export interface Rule {
  readonly wanted: string
  /** undefined: fine; otherwise the class of the fault. */
  readonly check: (value: unknown) => undefined | typeof TypeError | typeof RangeError
  /** What of the value is at fault, where that can be told. */
  readonly explain?: (value: unknown) => string | undefined
}

const MAX_WARMUP = 100_000
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const GROUP = /^[\w-]{1,64}$/

const LIMIT_RULES: Readonly<Record<keyof IsolateLimits, Rule>> = {
  files: integer(64, 65_536),
  threads: integer(40, 1024),
  mappings: integer(4096, 65_530),
  systemCalls: integer(1, 1_000_000_000),
  logBytes: integer(0, 16 << 20),
}

/** The rule of `coarseClockUs`, for the router's default too. */
export const COARSE_CLOCK_RULE: Rule = integer(0, 1_000_000)

/** The rule of `runtime`, for the router's default too. */
export const RUNTIME_RULE: Rule = {
  wanted: "'deno' or 'core'",
  check: (value) => value === 'deno' || value === 'core' ? undefined : TypeError,
}

const RULES: Readonly<Record<keyof IsolateOptions, Rule>> = {
  runtime: RUNTIME_RULE,
  timeoutMs: integer(1, 600_000),
  cpuMs: integer(1, 600_000),
  memoryMb: integer(16, 4096),
  outputBytes: integer(0, BODY_MAX),
  warmup: {
    wanted:
      `an integer from 0 to ${MAX_WARMUP}, a file as './users.warmup.json', or an array of at most ${MAX_WARMUP_REQUESTS} { method, path, headers, body }`,
    check: checkWarmup,
    explain: explainWarmup,
  },
  ephemeral: {
    wanted: 'true or false',
    check: (value) => typeof value === 'boolean' ? undefined : TypeError,
  },
  env: {
    wanted: 'an array of names of environment variables, and none that configures Deno itself',
    check: (value) => Array.isArray(value) && value.every(isName) ? undefined : TypeError,
  },
  may: {
    wanted: WANTED_GRANTS,
    check: (value) => Array.isArray(value) && value.every(isGrant) ? undefined : TypeError,
  },
  coarseClockUs: COARSE_CLOCK_RULE,
  limits: {
    wanted: `an object of ${
      Object.entries(LIMIT_RULES).map(([name, { wanted }]) => `${name}: ${wanted}`).join(', ')
    }`,
    check: checkLimits,
  },
  group: {
    wanted: 'a name of 1 to 64 letters, digits, _ and -',
    check: (value) => typeof value === 'string' && GROUP.test(value) ? undefined : TypeError,
  },
}

/** The rule of `limits`, for the router's defaults too. */
export const LIMITS_RULE: Rule = RULES.limits

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
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(
      `Cannot isolate ${file}: isolated is ${Deno.inspect(value)}, want true or an object of options`,
    )
  }
  const faults: { Kind: typeof TypeError | typeof RangeError; text: string }[] = []
  for (const [name, given] of Object.entries(options)) {
    const rule = Object.hasOwn(RULES, name) ? RULES[name as keyof IsolateOptions] : undefined
    if (rule === undefined) {
      faults.push({
        Kind: TypeError,
        text: `isolated.${name} is no option, want one of ${Object.keys(RULES).join(' ')}`,
      })
      continue
    }
    const Kind = given === undefined ? undefined : rule.check(given)
    if (Kind !== undefined) {
      const text = rule.explain?.(given) ?? `is ${Deno.inspect(given)}, want ${rule.wanted}`
      faults.push({ Kind, text: `isolated.${name} ${text}` })
    }
  }
  if (faults.length > 0) {
    const [{ Kind }] = faults
    throw new Kind(`Cannot isolate ${file}: ${faults.map(({ text }) => text).join('; ')}`)
  }
  const given = options as IsolateOptions
  return {
    runtime: given.runtime ?? defaults.runtime ?? 'deno',
    timeoutMs: given.timeoutMs ?? defaults.timeoutMs ?? 1000,
    cpuMs: given.cpuMs ?? defaults.cpuMs ?? 0,
    memoryMb: given.memoryMb ?? defaults.memoryMb ?? 128,
    outputBytes: given.outputBytes ?? 8 << 20,
    warmup: given.warmup ?? DEFAULT_WARMUP,
    ephemeral: given.ephemeral ?? true,
    env: [...new Set(given.env ?? [])].sort(),
    may: [...new Set(given.may?.map((grant) => grant.toLowerCase()) ?? [])].sort(),
    coarseClockUs: given.coarseClockUs ?? defaults.coarseClockUs ?? 0,
    limits: resolveLimits(given.limits, defaults.limits),
    group: given.group ?? null,
  }
}

function resolveLimits(
  given: IsolateLimits = {},
  defaults: IsolateLimits = {},
): Readonly<Required<IsolateLimits>> {
  const pick = (name: keyof IsolateLimits) => given[name] ?? defaults[name] ?? DEFAULT_LIMITS[name]
  return {
    files: pick('files'),
    threads: pick('threads'),
    mappings: pick('mappings'),
    systemCalls: pick('systemCalls'),
    logBytes: pick('logBytes'),
  }
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

function checkLimits(value: unknown): undefined | typeof TypeError | typeof RangeError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return TypeError
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(LIMIT_RULES, name)) return TypeError
    const Kind = given === undefined ? undefined : LIMIT_RULES[name as keyof IsolateLimits].check(given)
    if (Kind !== undefined) return Kind
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value) && !OWN_VARIABLES.test(value)
}

function checkWarmup(value: unknown): undefined | typeof TypeError | typeof RangeError {
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
}

function integer(least: number, most: number): Rule {
  return {
    wanted: `an integer from ${least} to ${most}`,
    check: (value) => {
      if (typeof value !== 'number') return TypeError
      return Number.isSafeInteger(value) && value >= least && value <= most ? undefined : RangeError
    },
  }
}
