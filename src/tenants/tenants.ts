/** All tenants of a router: whose a request is, and what becomes of those that change. */
import type { RequestState } from '../context/state.ts'
import type { Awaitable } from '../context/types.ts'
import { nearName } from '../text/near_name.ts'
import { digestCode } from './digest.ts'
import { Finder } from './finder.ts'
import { hostOf, HostTable } from './hosts.ts'
import type { TenantsHost } from './host.ts'
import { type Listed, type Listing, listTenants } from './listing.ts'
import type { ResolvedTenantsOptions } from './options.ts'
import { readProgram } from './program.ts'
import { Tenant, type TenantProgram, type TenantRow, type TenantStats } from './tenant.ts'
import { type TenantsWatch, watchTenants } from './watch.ts'

/** A tenant of a folder or a file. */
interface Member {
  readonly tenant: Tenant
  listed: Listed
}

/** The tenants of a router, by `router.tenants`. */
export class Tenants {
  readonly #options: ResolvedTenantsOptions
  readonly #host: TenantsHost
  readonly #finder: Finder | null
  readonly #members = new Map<string, Member>()
  /** Those that cannot be read and never could. */
  #faults = new Map<string, Error>()
  #hosts = new HostTable<Tenant>()
  #watch: TenantsWatch | null = null

  /** For a router. */
  constructor(options: ResolvedTenantsOptions, host: TenantsHost) {
    this.#options = options
    this.#host = host
    this.#finder = typeof options.from === 'function' ? new Finder(options.from, options, host) : null
  }

  /** Requests of hosts that no tenant has are the router's own. */
  get givesRoutes(): boolean {
    return this.#options.unknown === 'routes'
  }

  /** Reads who is there; with `watch` again when something is saved. Rejects where the folder or file cannot be read as a whole. */
  async open(watch: boolean): Promise<void> {
    const { from } = this.#options
    if (typeof from === 'function') return
    await this.#list()
    if (!(this.#options.watch ?? watch) || this.#watch !== null) return
    this.#watch = watchTenants(from, {
      folders: () => [...this.#members.values()].map(({ listed }) => [listed.name, listed.folder] as const),
      onSave: (names, settings) => this.#follow(names, settings),
      onFailure: (error) => this.#host.tell('tenant:refused', { tenant: undefined, error: toError(error) }),
    })
  }

  /** Stops watching, and ends the programs. */
  async close(): Promise<void> {
    await this.#watch?.close()
    this.#watch = null
    for (const { tenant } of this.#members.values()) tenant.close()
    this.#members.clear()
    this.#faults.clear()
    this.#hosts = new HostTable()
    this.#finder?.close()
  }

  /** Whose a request is; null: nobody's. */
  find({ request, url }: RequestState): Awaitable<Tenant | null> {
    if (this.#finder !== null) return this.#finder.find(request)
    const host = hostOf(url, request.headers.get('host'))
    return host === null ? null : this.#hosts.find(host) ?? null
  }

  /** Every tenant that is known, by name. Of a function those that it has named. */
  list(): TenantRow[] {
    const rows = this.#finder?.tenants.map((tenant) => tenant.row([])) ?? []
    for (const { tenant, listed } of this.#members.values()) rows.push(tenant.row(listed.hosts))
    for (const [name, error] of this.#faults) {
      if (this.#members.has(name)) continue
      rows.push({ name, group: undefined, hosts: [], state: 'failed', version: undefined, error })
    }
    return rows.sort((a, b) => a.name < b.name ? -1 : 1)
  }

  /** What each tenant used since it is known. */
  stats(): TenantStats[] {
    return this.#all().map((tenant) => tenant.stats()).sort((a, b) => a.name < b.name ? -1 : 1)
  }

  /**
   * Reads a tenant anew, or all of them. Resolves when what was read serves. Rejects with why it does not, and the former goes on; with
   * `TypeError` for a name that nobody has.
   */
  async reload(name?: string): Promise<void> {
    if (this.#finder === null) await this.#list()
    if (name === undefined) {
      const failures = (await Promise.allSettled(this.#all().map((tenant) => tenant.reload())))
        .filter((result) => result.status === 'rejected').map(({ reason }) => reason)
      if (failures.length > 0) {
        throw new AggregateError(failures, `${failures.length} tenants were not reloaded`)
      }
      return
    }
    const fault = this.#faults.get(name)
    if (fault !== undefined) throw fault
    const tenant = this.#members.get(name)?.tenant ?? this.#finder?.get(name)
    if (tenant === undefined) {
      const near = nearName(name, this.#all().map((tenant) => tenant.name))
      throw new TypeError(
        `Cannot reload a tenant: nobody is called ${Deno.inspect(name)}, ${
          near === undefined ? 'want a name of list()' : `did you mean '${near}'`
        }`,
      )
    }
    await tenant.reload()
  }

  #all(): Tenant[] {
    return [...this.#members.values()].map(({ tenant }) => tenant).concat(this.#finder?.tenants ?? [])
  }

  /** What was saved: settings of some, so that all are listed again, or files of programs. */
  async #follow(names: ReadonlySet<string>, settings: boolean): Promise<void> {
    try {
      if (settings) await this.#list()
      const changed = [...names].map((name) => this.#members.get(name)?.tenant)
      // Each has told why it was refused.
      await Promise.allSettled(
        changed.map((tenant) => tenant?.isLoaded === true ? tenant.reload() : undefined),
      )
    } catch (error) {
      this.#host.tell('tenant:refused', { tenant: undefined, error: toError(error) })
    }
  }

  async #list(): Promise<void> {
    const listing = await listTenants(this.#options.from as string, this.#options)
    const faults = new Map<string, Error>()
    for (const [name, listed] of listing) {
      if (listed instanceof Error) {
        faults.set(name, listed)
        this.#tellFault(name, listed)
      } else this.#take(listed)
    }
    this.#faults = faults
    for (const [name, { tenant }] of this.#members) {
      if (listing.has(name)) continue
      this.#members.delete(name)
      tenant.close()
      this.#host.tell('tenant:removed', { tenant: name })
    }
    this.#assignHosts(listing)
  }

  #tellFault(name: string, error: Error): void {
    if (this.#faults.get(name)?.message === error.message) return
    const member = this.#members.get(name)
    if (member !== undefined) member.tenant.refuse(error)
    else this.#host.tell('tenant:refused', { tenant: name, error })
  }

  #take(listed: Listed): void {
    const { name, settings } = listed
    const member = this.#members.get(name)
    const load = () => this.#read(name)
    if (member === undefined) {
      this.#members.set(name, { tenant: new Tenant(name, settings, load, this.#host), listed })
      return
    }
    member.listed = listed
    member.tenant.configure(settings, load)
  }

  async #read(name: string): Promise<TenantProgram> {
    const { listed } = this.#members.get(name)!
    const code = await readProgram(listed, this.#host.runtime)
    return { code, version: await digestCode(code) }
  }

  /** A host that somebody has stays with them; of two who ask for one anew, the first by name gets it, and the other hears of it. */
  #assignHosts(listing: Listing): void {
    const former = this.#hosts
    const table = new HostTable<Tenant>()
    const claims = [...this.#members.values()].flatMap(({ tenant, listed }) =>
      listed.hosts.map((pattern) => ({ tenant, pattern }))
    ).sort((a, b) => a.tenant.name < b.tenant.name ? -1 : 1)
    const isHolder = ({ tenant, pattern }: typeof claims[number]) => former.ownerOf(pattern) === tenant
    for (const claim of [...claims.filter(isHolder), ...claims.filter((claim) => !isHolder(claim))]) {
      const { tenant, pattern } = claim
      const owner = table.claim(pattern, tenant)
      if (owner === undefined || owner === tenant || listing.get(tenant.name) instanceof Error) continue
      tenant.refuse(
        new TypeError(`Cannot give the host ${pattern} to the tenant ${tenant.name}: another one has it`),
      )
    }
    this.#hosts = table
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
