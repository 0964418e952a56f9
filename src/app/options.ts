import { type Filter, FILTERS_RULE, LIMIT_DEFAULTS, LIMIT_RULES } from '../dve/mod.ts'
import type { ParkedOptions } from '../isolate/machines/machines.ts'
import { DEFAULT_RULES, type IsolateDefaults, MACHINE_RULES } from '../isolate/plan/options.ts'
import { checkOptions } from '../options/check.ts'
import { type AllSet, withDefaults } from '../options/resolve.ts'
import {
  flag,
  integer,
  isObject,
  milliseconds,
  object,
  oneOf,
  type OptionRules,
  rule,
  text,
} from '../options/rule.ts'
import { resolveTenantsOptions, TENANTS_RULE } from '../tenants/options.ts'
import type { ResolvedTenantsOptions, TenantFinder, TenantsOptions } from '../tenants/options.ts'
import { OUTBOUND_RULE, type SandboxOutbound } from '../sandbox/code.ts'
import { POOL_RULES } from '../worker/options.ts'
import type { WorkerPoolOptions as WorkerOptions } from '../worker/types.ts'

export type { WorkerOptions }

/** The virtual machines of isolated handlers. */
export interface IsolateRouterOptions extends IsolateDefaults {
  /** Number of virtual machines. Default: the machine's cores. */
  vms?: number | undefined
  /** Requests that may wait. Default 1024. */
  queue?: number | undefined
  /**
   * Requests of isolated handlers with bindings or `outbound` that may be under way at once, `each` of one program and in `all`: each keeps
   * its machine while it waits for the host. One more is refused as by a full queue (503). Default 256 and 1024. `eachMb` and `allMb` are
   * MiB that those machines hold while they wait. Default 1024 and 4096.
   */
  parked?: ParkedOptions | undefined
  /**
   * MiB for the programs of isolated routes and their machines. Over it those that were not used for the longest time are dropped; the
   * next request for one waits until it is loaded again. Default: no limit.
   */
  memoryBudgetMb?: number | undefined
  /**
   * Folder for the snapshots of isolated routes, made if need be: a server that starts again goes on from them, and boots and warms up
   * nothing. They hold all that the programs hold in memory, values of `env` too. The folder must be this user's alone. Default: none.
   */
  cacheDir?: string | undefined
  /** MiB for the files in `cacheDir`; over it those that were not used for the longest time are removed. Default 2048. */
  cacheMb?: number | undefined
  /**
   * Where no virtual machine can run: `refuse` (the default) answers 503; `worker` runs the handlers in Deno processes without
   * permissions, a weaker boundary, and says so at start and in every response (`x-mayfly-isolation: worker`).
   */
  onUnavailable?: 'refuse' | 'worker' | undefined
  /**
   * Write requests of each shape to `NAME.warmup.json` beside the route, to be reviewed and named as its `warmup`. In development only:
   * what production's users send must not come into a snapshot. Default false.
   */
  recordWarmup?: boolean | undefined
  /** What isolated handlers may call of the host, by names that their files list: functions, objects of functions, programs, `kv(prefix)`. */
  bindings?: Readonly<Record<string, unknown>> | undefined
  /**
   * What the bindings give while handlers are warmed up, when no function of the host is called: by the binding's name a value, or an
   * object of values by the names of its functions. It stays in the snapshot, so it is nobody's. Default: calls fail.
   */
  warmupAnswers?: Readonly<Record<string, unknown>> | undefined
  /** What `fetch` reaches in handlers whose files say `outbound: true`. Default: nothing. */
  outbound?: SandboxOutbound | undefined
}

/** Which proxies may name the client: all, the nearest n, or those of addresses and CIDR ranges. */
export type TrustProxy = boolean | number | readonly string[]

/** Options of a {@linkcode Router}. Times are in milliseconds, sizes in bytes unless said. */
export interface RouterOptions {
  /** Folder of the route files. Default `./routes`. */
  routesDir?: string | undefined
  /** Folder of the DVE templates. Without it `ctx.render` fails. */
  viewsDir?: string | undefined
  worker?: WorkerOptions | undefined
  /** The virtual machines of isolated routes; false refuses such routes with 503. */
  isolate?: IsolateRouterOptions | false | undefined
  /** Sites of their own in virtual machines, by host: a folder of them, a file, a function, or an object of options. */
  tenants?: string | TenantFinder | TenantsOptions | undefined
  /** Until the response is handed over; 504 when it is over, 408 while the body still comes. 0: none. Default 30 000. */
  requestTimeoutMs?: number | undefined
  /** Characters of a URL, 414 over it. Default 8192. */
  maxUrlLength?: number | undefined
  /** Characters of a route parameter, 414 over it. Default 1024. */
  maxParamLength?: number | undefined
  /** Largest body that a handler may read, 413 over it. Default 1 MiB. */
  maxBodyBytes?: number | undefined
  /** Default false: X-Forwarded-For is ignored. */
  trustProxy?: TrustProxy | undefined
  /** Re-evaluate what is saved. Default: on when DENO_ENV is `development`. */
  hotReload?: boolean | undefined
  /** Filters for templates. */
  filters?: Readonly<Record<string, Filter>> | undefined
  /** Turns of one template loop. Default 100 000. */
  maxIterations?: number | undefined
  /** Turns of all loops of one render. Default 1 000 000. */
  maxRenderIterations?: number | undefined
  /** Characters of one rendered page. Default 5 000 000; a streamed page is bounded only when this is given. */
  maxOutputSize?: number | undefined
  /** Characters of one template. Default 1 000 000. */
  maxTemplateSize?: number | undefined
  /** Time for accepted requests to end at shutdown. Default 10 000. */
  drainMs?: number | undefined
  /** Put the query string into the `url` of request events. Default false. */
  eventQuery?: boolean | undefined
}

/** Options with their defaults filled in. */
export interface ResolvedOptions extends
  AllSet<
    Omit<RouterOptions, 'viewsDir' | 'worker' | 'isolate' | 'tenants' | 'hotReload' | 'maxOutputSize'>
  > {
  readonly viewsDir?: string
  readonly maxOutputSize?: number
  readonly worker?: WorkerOptions
  readonly isolate?: IsolateRouterOptions | false
  readonly tenants: ResolvedTenantsOptions | null
  /** Undefined: decided by the environment at the first request. */
  readonly hotReload?: boolean
}

const FOLDER = text('a folder as non-empty text')

const ISOLATE_RULES: OptionRules<IsolateRouterOptions> = {
  ...DEFAULT_RULES,
  ...MACHINE_RULES,
  cacheDir: FOLDER,
  cacheMb: integer(1, 1 << 24),
  onUnavailable: oneOf('refuse', 'worker'),
  recordWarmup: flag(),
  bindings: rule('an object of bindings', isObject),
  warmupAnswers: rule('an object of values by the names of bindings', isObject),
  outbound: OUTBOUND_RULE,
}

const ROUTER_RULES: OptionRules<RouterOptions> = {
  routesDir: FOLDER,
  viewsDir: FOLDER,
  worker: object(POOL_RULES),
  isolate: {
    ...object(ISOLATE_RULES),
    ...rule('an object or false', (value) => value === false || isObject(value)),
  },
  tenants: TENANTS_RULE,
  requestTimeoutMs: milliseconds(0),
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
  hotReload: flag(),
  filters: FILTERS_RULE,
  ...LIMIT_RULES,
  drainMs: milliseconds(0),
  eventQuery: flag(),
}

const { maxOutputSize: _, ...RENDER_DEFAULTS } = LIMIT_DEFAULTS

const DEFAULTS = {
  ...RENDER_DEFAULTS,
  routesDir: './routes',
  requestTimeoutMs: 30_000,
  maxUrlLength: 8192,
  maxParamLength: 1024,
  maxBodyBytes: 1 << 20,
  trustProxy: false,
  filters: {},
  drainMs: 10_000,
  eventQuery: false,
} as const

/**
 * Checks every option and fills in the defaults. Throws one `TypeError` or `RangeError` that names each fault: the
 * option, its value and what was wanted.
 */
export function resolveOptions(options: RouterOptions): ResolvedOptions {
  checkOptions('make a Router', options, ROUTER_RULES)
  const { tenants, ...given } = options
  return {
    ...withDefaults(given, DEFAULTS),
    tenants: tenants === undefined ? null : resolveTenantsOptions(tenants),
  }
}
