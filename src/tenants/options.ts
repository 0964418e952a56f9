/** Options of a router's tenants. */
import { findFaults } from '../options/check.ts'
import {
  flag,
  integer,
  isObject,
  object,
  oneOf,
  type OptionRule,
  type OptionRules,
  rule,
} from '../options/rule.ts'
import type { Awaitable } from '../context/types.ts'
import type { SandboxCode } from '../sandbox/code.ts'
import type { AllSet } from '../options/resolve.ts'
import { toPattern } from './hosts.ts'
import { DEFAULTS_RULES, type TenantDefaults } from './settings.ts'

/** A tenant as a function names it. */
export interface FoundTenant extends TenantDefaults {
  /** Requests of one name are one tenant's. */
  readonly name: string
  /** Another one than before swaps. Left out: what was loaded first stays until `reload`. */
  readonly version?: string | undefined
  readonly group?: string | undefined
  /** Its program, or what gives it: asked for once for each version. `env`, `outbound` and `limits` in it come before those beside it. */
  readonly code: SandboxCode | (() => Awaitable<SandboxCode>)
}

/** Says whose a request is; null: nobody's. It is asked for every request, so it should look at little but the host. */
export type TenantFinder = (request: Request) => Awaitable<FoundTenant | null>

/** Options of a router's tenants. */
export interface TenantsOptions {
  /** A folder of tenants, a file (`tenants.json`), or a function. */
  readonly from: string | TenantFinder
  /** Requests of hosts that no tenant has: `routes`, the router's own; `refuse`, 404. Default `routes`. */
  readonly unknown?: 'routes' | 'refuse' | undefined
  /** Tenants that name no hosts have that of their name below this domain. */
  readonly domain?: string | undefined
  /** Settings of tenants that say nothing else. */
  readonly defaults?: TenantDefaults | undefined
  /** Settings by the name of a group. */
  readonly groups?: Readonly<Record<string, TenantDefaults>> | undefined
  /** Reload what is saved. Default: while the router serves. */
  readonly watch?: boolean | undefined
  /** Tenants of a function that are remembered; over it the one that was asked for longest ago is forgotten. Default 10 000. */
  readonly known?: number | undefined
}

/** Options with their defaults. */
export interface ResolvedTenantsOptions extends Readonly<AllSet<Omit<TenantsOptions, 'domain' | 'watch'>>> {
  readonly domain: string | undefined
  readonly watch: boolean | undefined
}

const GROUPS: OptionRule = {
  ...rule('an object of settings by the name of a group', isObject),
  explain: (value) => isObject(value) ? findGroupFaults(value).map(({ text }) => text).join('; ') : undefined,
  check: (value) => isObject(value) ? findGroupFaults(value)[0]?.Kind : TypeError,
}

/** What options of tenants must be. */
export const TENANTS_RULES: OptionRules<TenantsOptions> = {
  from: {
    ...rule(
      "a folder or a file ('.json') as text, or a function",
      (value) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
    ),
    required: true,
  },
  unknown: oneOf('routes', 'refuse'),
  domain: rule(
    'a domain without a star',
    (value) => typeof value === 'string' && !value.includes('*') && toPattern(value) !== null,
  ),
  defaults: object(DEFAULTS_RULES),
  groups: GROUPS,
  watch: flag(),
  known: integer(1),
}

/** What the option of a router must be: what tenants come from, or an object of options. */
export const TENANTS_RULE: OptionRule = {
  ...object(TENANTS_RULES),
  ...rule(
    "a folder or a file ('.json') as text, a function, or an object with 'from'",
    (value) => typeof value === 'function' || isObject(value) || (typeof value === 'string' && value !== ''),
  ),
}

/** The faults of groups, each with the group's name in front. */
export function findGroupFaults(groups: Readonly<Record<string, unknown>>) {
  return Object.entries(groups).flatMap(([name, group]) =>
    isObject(group)
      ? findFaults(group, DEFAULTS_RULES, `has ${name}.`)
      : [{ Kind: TypeError, text: `has ${name}, which is no object` }]
  )
}

/** Fills in the defaults of options that were checked. */
export function resolveTenantsOptions(given: string | TenantFinder | TenantsOptions): ResolvedTenantsOptions {
  const options = typeof given === 'object' ? given : { from: given }
  return {
    from: options.from,
    unknown: options.unknown ?? 'routes',
    domain: options.domain === undefined ? undefined : toPattern(options.domain)!,
    defaults: options.defaults ?? {},
    groups: options.groups ?? {},
    watch: options.watch,
    known: options.known ?? 10_000,
  }
}
