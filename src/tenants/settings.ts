/** What a tenant may say of itself, and its group or the router of many. */
import { isGrant } from '../isolate/plan/grants.ts'
import { checkOptions } from '../options/check.ts'
import {
  flag,
  integer,
  isObject,
  object,
  type OptionRule,
  type OptionRules,
  rule,
  text,
} from '../options/rule.ts'
import { OUTBOUND_RULE, type SandboxOutbound } from '../sandbox/code.ts'
import { SANDBOX_LIMIT_RULES, type SandboxLimits } from '../sandbox/limits.ts'
import { WEIGHT_RULE } from '../sandbox/options.ts'
import type { AllSet } from '../options/resolve.ts'
import { toPattern } from './hosts.ts'

/** What a tenant, a group or the defaults may set. Members that are left out are the group's, then the defaults'. */
export interface TenantDefaults {
  /** Data for the program, and bindings, which are functions of the host, objects of such, or other programs; members are put together with those of the group and the defaults. */
  readonly env?: Readonly<Record<string, unknown>> | undefined
  /** What the program's `fetch` reaches: null for nothing, hosts, an object with `allow`, or a function, as of a program of a sandbox. */
  readonly outbound?: SandboxOutbound | undefined
  /** Limits of one request; members are put together too. */
  readonly limits?: SandboxLimits | undefined
  /** Turns in the queue for each turn of a tenant of weight 1, 1 to 16. Default 1. */
  readonly weight?: number | undefined
  /** Requests that run at the same time. Default: no limit but the machines. */
  readonly concurrency?: number | undefined
  /** Requests over `concurrency` that wait; 429 over it. Default 64. */
  readonly waiting?: number | undefined
  /** Milliseconds of machine time in a second, on average; 429 over it. Default: no limit. */
  readonly cpuMsPerSecond?: number | undefined
  /** Requests in a second, on average; 429 over it. Default: no limit. */
  readonly requestsPerSecond?: number | undefined
  /** Headers that it may set beyond its own response's: `cookies`, `headers:NAME`, `headers:*`. Default none. */
  readonly may?: readonly string[] | undefined
  /** Its folder is trusted: bundle it with its npm packages, as a route is. Default false. */
  readonly npm?: boolean | undefined
}

/** The members of `tenant.json`. */
export interface TenantSettings extends TenantDefaults {
  /** Hosts, wildcards (`*.example.com`) among them. Default: the tenant's name below `domain`. */
  readonly hosts?: readonly string[] | undefined
  /** The group whose settings it has. */
  readonly group?: string | undefined
  /** The module that is run; a name without an ending is a Linux program's. Default `main.ts`, `main.js`, `main.mts`, `main.mjs` or `main`. */
  readonly main?: string | undefined
}

/** Settings with what is the same for all filled in. */
export interface ResolvedSettings extends
  Readonly<
    AllSet<Pick<TenantDefaults, 'env' | 'limits' | 'weight' | 'concurrency' | 'waiting' | 'may' | 'npm'>>
  > {
  readonly outbound: SandboxOutbound | undefined
  readonly cpuMsPerSecond: number | undefined
  readonly requestsPerSecond: number | undefined
  readonly group: string | undefined
}

const HOSTS: OptionRule = {
  ...rule(
    'an array of host names and wildcards, such as "example.com" and "*.example.com"',
    (value) =>
      Array.isArray(value) && value.every((host) => typeof host === 'string' && toPattern(host) !== null),
  ),
  explain: (value) => {
    const bad = Array.isArray(value)
      ? value.find((host) => typeof host !== 'string' || toPattern(host) === null)
      : undefined
    return bad === undefined
      ? undefined
      : `has ${Deno.inspect(bad)}, want a host name without a port, or "*." before one`
  },
}

const GRANTS = rule(
  "an array of 'cookies', 'headers:*' and 'headers:NAME'",
  (value) =>
    Array.isArray(value) &&
    value.every((grant) => isGrant(grant) && grant !== 'session' && grant !== 'state'),
)

/** What defaults and groups must be. */
export const DEFAULTS_RULES: OptionRules<TenantDefaults> = {
  env: rule('an object', isObject),
  outbound: OUTBOUND_RULE,
  limits: object(SANDBOX_LIMIT_RULES),
  weight: WEIGHT_RULE,
  concurrency: integer(1, 1024),
  waiting: integer(0, 16_384),
  cpuMsPerSecond: integer(1, 1_000_000),
  requestsPerSecond: integer(1, 1_000_000),
  may: GRANTS,
  npm: flag(),
}

/** What a tenant's settings must be. */
export const SETTINGS_RULES: OptionRules<TenantSettings> = {
  ...DEFAULTS_RULES,
  hosts: HOSTS,
  group: text(),
  main: text('the name of a module'),
}

/** Checks settings; `where` is the file that they stand in. Throws `TypeError` or `RangeError` that names each fault. */
export function checkSettings(where: string, settings: unknown): TenantSettings {
  checkOptions(`read ${where}`, settings as TenantSettings, SETTINGS_RULES, 'it')
  return settings as TenantSettings
}

/** A tenant's settings over its group's over the defaults. Throws `TypeError` for a group that there is not. */
export function resolveSettings(
  where: string,
  settings: TenantSettings,
  groups: Readonly<Record<string, TenantDefaults>>,
  defaults: TenantDefaults,
): ResolvedSettings {
  const { group } = settings
  if (group !== undefined && !Object.hasOwn(groups, group)) {
    const known = Object.keys(groups).join(', ') || 'none'
    throw new TypeError(
      `Cannot read ${where}: group is '${group}', want one of the groups that there are: ${known}`,
    )
  }
  const layers = [defaults, group === undefined ? {} : groups[group]!, settings]
  const last = <K extends keyof TenantDefaults>(name: K): TenantDefaults[K] | undefined => {
    for (const layer of layers.toReversed()) if (layer[name] !== undefined) return layer[name]
    return undefined
  }
  return {
    group,
    env: Object.assign({}, ...layers.map(({ env }) => env)),
    limits: Object.assign({}, ...layers.map(({ limits }) => limits)),
    outbound: last('outbound'),
    weight: last('weight') ?? 1,
    concurrency: last('concurrency') ?? Infinity,
    waiting: last('waiting') ?? 64,
    cpuMsPerSecond: last('cpuMsPerSecond'),
    requestsPerSecond: last('requestsPerSecond'),
    may: last('may') ?? [],
    npm: last('npm') ?? false,
  }
}
