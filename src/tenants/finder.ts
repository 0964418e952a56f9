/** Tenants that a function names: those that it named lately. */
import type { Awaitable } from '../context/types.ts'
import { findFaults, throwFaults } from '../options/check.ts'
import { isObject, type OptionRules, required, rule, text } from '../options/rule.ts'
import type { TenantsHost } from './host.ts'
import type { FoundTenant, ResolvedTenantsOptions, TenantFinder } from './options.ts'
import { withSettings } from './program.ts'
import { DEFAULTS_RULES, type ResolvedSettings, resolveSettings } from './settings.ts'
import { Tenant, type TenantProgram } from './tenant.ts'

interface Known {
  readonly tenant: Tenant
  version: string | undefined
}

const RULES: OptionRules<FoundTenant> = {
  ...DEFAULTS_RULES,
  name: required(
    rule('text of 1 to 200 characters', (value) => typeof value === 'string' && /^.{1,200}$/s.test(value)),
  ),
  version: text(),
  group: text(),
  code: required(
    rule(
      'a program ({ mainModule, modules }) or a function that gives one',
      (value) => typeof value === 'function' || isObject(value),
    ),
  ),
}

/** Where a fault stands. */
const WHERE = 'what the function of tenants gave'

/** Tenants by the name that the function gives, at most `known` of them. */
export class Finder {
  readonly #finder: TenantFinder
  readonly #options: ResolvedTenantsOptions
  readonly #host: TenantsHost
  /** The one that was asked for last comes last. */
  readonly #known = new Map<string, Known>()

  constructor(finder: TenantFinder, options: ResolvedTenantsOptions, host: TenantsHost) {
    this.#finder = finder
    this.#options = options
    this.#host = host
  }

  get tenants(): Tenant[] {
    return [...this.#known.values()].map(({ tenant }) => tenant)
  }

  get(name: string): Tenant | undefined {
    return this.#known.get(name)?.tenant
  }

  /** Whose a request is. Throws what the function throws, and `TypeError` where it gave no tenant. */
  find(request: Request): Awaitable<Tenant | null> {
    const found = this.#finder(request)
    return found instanceof Promise ? found.then((given) => this.#take(given)) : this.#take(found)
  }

  close(): void {
    for (const { tenant } of this.#known.values()) tenant.close()
    this.#known.clear()
  }

  #take(found: FoundTenant | null | undefined): Tenant | null {
    if (found === null || found === undefined) return null
    const known = isObject(found) ? this.#known.get(found.name) : undefined
    if (known !== undefined) {
      this.#known.delete(found.name)
      this.#known.set(found.name, known)
      if (known.version === found.version) return known.tenant
    }
    const settings = this.#check(found)
    const load = () => this.#read(found, settings)
    if (known !== undefined) {
      known.version = found.version
      known.tenant.configure(settings, load)
      // Requests go on with the former; events tell what became of it.
      if (known.tenant.isLoaded) known.tenant.reload().catch(() => {})
      return known.tenant
    }
    const tenant = new Tenant(found.name, settings, load, this.#host)
    this.#known.set(found.name, { tenant, version: found.version })
    if (this.#known.size > this.#options.known) this.#forget()
    return tenant
  }

  #check(found: FoundTenant): ResolvedSettings {
    if (!isObject(found)) {
      throw new TypeError(`Cannot find a tenant: ${WHERE} is ${Deno.inspect(found)}, want an object or null`)
    }
    throwFaults('find a tenant', findFaults(found, RULES))
    const { group, ...settings } = found
    const layer = group === undefined ? settings : { ...settings, group }
    return resolveSettings(WHERE, layer, this.#options.groups, this.#options.defaults)
  }

  async #read({ code, version }: FoundTenant, settings: ResolvedSettings): Promise<TenantProgram> {
    const given = typeof code === 'function' ? await code() : code
    if (!isObject(given)) {
      throw new TypeError(`Cannot load a program: it is ${Deno.inspect(given)}, want { mainModule, modules }`)
    }
    return { code: withSettings(given, settings), version }
  }

  /** The one that was asked for longest ago and has nothing under way. */
  #forget(): void {
    for (const [name, { tenant }] of this.#known) {
      if (!tenant.isQuiet) continue
      this.#known.delete(name)
      return tenant.close()
    }
  }
}
