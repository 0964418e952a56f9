import { closestString } from '@std/text'
import type { Filter } from '../dve/mod.ts'
import {
  COARSE_CLOCK_RULE,
  type IsolateLimits,
  type IsolateRuntime,
  LIMITS_RULE,
  RUNTIME_RULE,
} from '../isolate/plan/options.ts'

/** The worker pool. */
export interface WorkerOptions {
  /** Module or script that each worker runs. */
  scriptURL: string | URL
  /** Number of workers. Default: the machine's cores. */
  poolSize?: number
  /** Milliseconds that a task may take. Default 5000. */
  taskTimeoutMs?: number
  /** Tasks that may wait or run in one worker. Default 8. */
  maxQueueDepth?: number
}

/** The virtual machines of isolated handlers. */
export interface IsolateRouterOptions {
  /** What runs routes that do not say it. Default `deno`. */
  runtime?: IsolateRuntime
  /** Number of virtual machines. Default: the machine's cores. */
  vms?: number
  /** Milliseconds that a request may run. */
  timeoutMs?: number
  /** Milliseconds that a request may have a CPU. Default: no limit but `timeoutMs`. */
  cpuMs?: number
  /** Memory of one request in MiB. */
  memoryMb?: number
  /** Microseconds by which the clocks of handlers move on. Default 0: exact. */
  coarseClockUs?: number
  /** Further limits of routes that say no others. */
  limits?: IsolateLimits
  /** Requests that may wait. Default 1024. */
  queue?: number
  /**
   * MiB for the programs of isolated routes and their machines. Over it those that were not used for the longest time are dropped; the
   * next request for one waits until it is loaded again. Default: no limit.
   */
  memoryBudgetMb?: number
  /**
   * Where no virtual machine can run: `refuse` (the default) answers 503; `worker` runs the handlers in Deno processes without
   * permissions, a weaker boundary, and says so at start and in every response (`x-mayfly-isolation: worker`).
   */
  onUnavailable?: 'refuse' | 'worker'
  /**
   * Write requests of each shape to `NAME.warmup.json` beside the route, to be reviewed and named as its `warmup`. In development only:
   * what production's users send must not come into a snapshot. Default false.
   */
  recordWarmup?: boolean
}

/** Which proxies may name the client: all, the nearest n, or those of addresses and CIDR ranges. */
export type TrustProxy = boolean | number | readonly string[]

/** Options of a {@linkcode Router}. Times are in milliseconds, sizes in bytes unless said. */
export interface RouterOptions {
  /** Folder of the route files. Default `./routes`. */
  routesDir?: string
  /** Folder of the DVE templates. Without it `ctx.render` fails. */
  viewsDir?: string
  worker?: WorkerOptions
  /** The virtual machines of isolated routes; false refuses such routes with 503. */
  isolate?: IsolateRouterOptions | false
  /** Until the response is handed over; 504 when it is over, 408 while the body still comes. 0: none. Default 30 000. */
  requestTimeoutMs?: number
  /** Characters of a URL, 414 over it. Default 8192. */
  maxUrlLength?: number
  /** Characters of a route parameter, 414 over it. Default 1024. */
  maxParamLength?: number
  /** Largest body that a handler may read, 413 over it. Default 1 MiB. */
  maxBodyBytes?: number
  /** Default false: X-Forwarded-For is ignored. */
  trustProxy?: TrustProxy
  /** Re-evaluate what is saved. Default: on when DENO_ENV is `development`. */
  hotReload?: boolean
  /** Filters for templates. */
  filters?: Readonly<Record<string, Filter>>
  /** Turns of one template loop. Default 100 000. */
  maxIterations?: number
  /** Turns of all loops of one render. Default 1 000 000. */
  maxRenderIterations?: number
  /** Characters of one rendered page. Default 5 000 000; a streamed page is bounded only when this is given. */
  maxOutputSize?: number
  /** Characters of one template. Default 1 000 000. */
  maxTemplateSize?: number
  /** Time for accepted requests to end at shutdown. Default 10 000. */
  drainMs?: number
  /** Put the query string into the `url` of request events. Default false. */
  eventQuery?: boolean
}

/** Options with their defaults filled in. */
export interface ResolvedOptions extends
  Required<
    Omit<RouterOptions, 'viewsDir' | 'worker' | 'isolate' | 'hotReload' | 'maxOutputSize'>
  > {
  readonly viewsDir: string | undefined
  readonly maxOutputSize: number | undefined
  readonly worker: WorkerOptions | undefined
  readonly isolate: IsolateRouterOptions | false | undefined
  /** Undefined: decided by the environment at the first request. */
  readonly hotReload: boolean | undefined
}

interface Rule {
  readonly wanted: string
  /** undefined: fine; otherwise the class of the fault. */
  readonly check: (value: unknown) => undefined | typeof TypeError | typeof RangeError
}

const path: Rule = {
  wanted: 'a folder as non-empty text',
  check: (value) => typeof value === 'string' && value !== '' ? undefined : TypeError,
}
const flag: Rule = {
  wanted: 'true or false',
  check: (value) => typeof value === 'boolean' ? undefined : TypeError,
}

const ROUTER_RULES: Readonly<Record<keyof RouterOptions, Rule>> = {
  routesDir: path,
  viewsDir: path,
  worker: nested(),
  isolate: {
    wanted: 'an object or false',
    check: (value) => value === false || isObject(value) ? undefined : TypeError,
  },
  requestTimeoutMs: integer(0),
  maxUrlLength: integer(1),
  maxParamLength: integer(1),
  maxBodyBytes: integer(0),
  trustProxy: {
    wanted: 'true, false, a number of proxies, or an array of addresses and CIDR ranges',
    check: (value) => {
      if (typeof value === 'number') return Number.isInteger(value) && value >= 0 ? undefined : RangeError
      if (typeof value === 'boolean') return undefined
      return Array.isArray(value) && value.every((item) => typeof item === 'string') ? undefined : TypeError
    },
  },
  hotReload: flag,
  filters: {
    wanted: 'an object of functions',
    check: (value) =>
      isObject(value) && Object.values(value as object).every((item) => typeof item === 'function')
        ? undefined
        : TypeError,
  },
  maxIterations: integer(1),
  maxRenderIterations: integer(1),
  maxOutputSize: integer(1),
  maxTemplateSize: integer(1),
  drainMs: integer(0),
  eventQuery: flag,
}

const WORKER_RULES: Readonly<Record<keyof WorkerOptions, Rule>> = {
  scriptURL: {
    wanted: 'the URL of a script, as text or URL',
    check: (value) =>
      (typeof value === 'string' && value !== '') || value instanceof URL ? undefined : TypeError,
  },
  poolSize: integer(1),
  taskTimeoutMs: integer(1),
  maxQueueDepth: integer(1),
}

const ISOLATE_RULES: Readonly<Record<keyof IsolateRouterOptions, Rule>> = {
  runtime: RUNTIME_RULE,
  vms: integer(1),
  timeoutMs: integer(1),
  cpuMs: integer(1),
  memoryMb: integer(1),
  coarseClockUs: COARSE_CLOCK_RULE,
  limits: LIMITS_RULE,
  queue: integer(1),
  memoryBudgetMb: integer(1),
  onUnavailable: {
    wanted: '"refuse" or "worker"',
    check: (value) => value === 'refuse' || value === 'worker' ? undefined : TypeError,
  },
  recordWarmup: flag,
}

/**
 * Checks every option and fills in the defaults. Throws one `TypeError` or `RangeError` that names each fault: the
 * option, its value and what was wanted.
 */
export function resolveOptions(options: RouterOptions): ResolvedOptions {
  if (!isObject(options)) {
    throw new TypeError(`Cannot make a Router: options is ${Deno.inspect(options)}, want an object`)
  }
  const faults: Fault[] = [
    ...findFaults('', options, ROUTER_RULES),
    ...(isObject(options.worker) ? findFaults('worker.', options.worker!, WORKER_RULES, ['scriptURL']) : []),
    ...(isObject(options.isolate) ? findFaults('isolate.', options.isolate as object, ISOLATE_RULES) : []),
  ]
  if (faults.length > 0) {
    throw new faults[0].Kind(`Cannot make a Router: ${faults.map((fault) => fault.text).join('; ')}`)
  }
  return {
    routesDir: options.routesDir ?? './routes',
    viewsDir: options.viewsDir,
    worker: options.worker,
    isolate: options.isolate,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    maxUrlLength: options.maxUrlLength ?? 8192,
    maxParamLength: options.maxParamLength ?? 1024,
    maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
    trustProxy: options.trustProxy ?? false,
    hotReload: options.hotReload,
    filters: options.filters ?? {},
    maxIterations: options.maxIterations ?? 100_000,
    maxRenderIterations: options.maxRenderIterations ?? 1_000_000,
    maxOutputSize: options.maxOutputSize,
    maxTemplateSize: options.maxTemplateSize ?? 1_000_000,
    drainMs: options.drainMs ?? 10_000,
    eventQuery: options.eventQuery ?? false,
  }
}

interface Fault {
  readonly Kind: typeof TypeError | typeof RangeError
  readonly text: string
}

function findFaults(
  prefix: string,
  options: object,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[] = [],
): Fault[] {
  const faults: Fault[] = []
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) {
      const near = closestString(name, Object.keys(rules))
      faults.push({ Kind: TypeError, text: `${prefix}${name} is no option, did you mean ${prefix}${near}` })
    } else if (value !== undefined) {
      const Kind = rule.check(value)
      if (Kind !== undefined) {
        faults.push({ Kind, text: `${prefix}${name} is ${Deno.inspect(value)}, want ${rule.wanted}` })
      }
    }
  }
  for (const name of required) {
    if ((options as Record<string, unknown>)[name] === undefined) {
      faults.push({ Kind: TypeError, text: `${prefix}${name} is missing, want ${rules[name].wanted}` })
    }
  }
  return faults
}

function integer(least: number): Rule {
  return {
    wanted: `an integer of at least ${least}`,
    check: (value) => {
      if (typeof value !== 'number') return TypeError
      return Number.isSafeInteger(value) && value >= least ? undefined : RangeError
    },
  }
}

function nested(): Rule {
  return { wanted: 'an object', check: (value) => isObject(value) ? undefined : TypeError }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
