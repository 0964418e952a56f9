/** The tenants of an app: their events, and what stderr hears of them where no listener does. */
import { HttpError } from '../errors/http_error.ts'
import { toPrintable } from '../errors/printable.ts'
import { StartupError } from '../errors/startup_error.ts'
import { emit, wants } from '../events/bus.ts'
import type { TenantMetadata } from '../events/kinds.ts'
import type { TenantEventKind } from '../tenants/host.ts'
import type { ResolvedTenantsOptions } from '../tenants/options.ts'
import { Tenants } from '../tenants/tenants.ts'
import type { App } from './app.ts'
import { createFaultLog, type FaultLog, logFault, logNews } from './fault_log.ts'
import { sandboxOf } from './router_sandbox.ts'

/** What stderr has heard of one tenant. */
interface Told {
  /** Of its own, so that no line of one tenant counts for another. */
  readonly faults: FaultLog
  readonly denied: Set<string>
}

/** Tenants whose reports on standard error are remembered, so that none is repeated. */
const MAX_TOLD = 1000

/** The tenants that the options name; nothing is read yet. */
export function createTenants(options: ResolvedTenantsOptions, app: () => App): Tenants {
  const told = new Map<string, Told>()
  return new Tenants(options, {
    get runtime() {
      const { isolate } = app().options
      return (isolate === false ? undefined : isolate?.runtime) ?? 'deno'
    },
    sandbox: () => sandboxOf(app()),
    tell: (kind, metadata) => tell(app(), told, kind, metadata),
  })
}

/** Reads who is there. Rejects with `StartupError` where the folder or file cannot be read as a whole. */
export async function openTenants({ tenants, options }: App, watch: boolean): Promise<void> {
  try {
    await tenants?.open(watch)
  } catch (error) {
    const from = options.tenants?.from
    const expected = error instanceof TypeError || error instanceof RangeError ||
      error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory
    if (!expected) throw error
    throw new StartupError(`Cannot read tenants from '${String(from)}': ${error.message}`)
  }
}

function tell(app: App, told: Map<string, Told>, kind: TenantEventKind, metadata: TenantMetadata): void {
  if (wants(app.bus, kind)) return emit(app.bus, kind, metadata)
  const { tenant = '', error, reason, method, path, text } = metadata
  const named = tenant === '' ? 'tenants' : `tenant ${toPrintable(tenant)}`
  switch (kind) {
    case 'tenant:refused':
      // Also when it was said before: somebody has saved it again.
      console.error(
        `mayfly: ${named}: ${
          metadata.version === undefined ? 'refused' : 'refused, the former version goes on'
        }`,
      )
      return logNews(toldOf(told, tenant).faults, error, null)
    case 'tenant:failed':
      if (error instanceof HttpError || wants(app.bus, 'request:error')) return
      return logFault(
        toldOf(told, tenant).faults,
        `${named}: ${method} ${toPrintable(path ?? '')} failed`,
        error,
        null,
      )
    case 'tenant:denied': {
      const { denied } = toldOf(told, tenant)
      if (denied.has(reason!)) return
      denied.add(reason!)
      return console.error(
        `mayfly: ${named}: it may not set ${reason} and did not, want it in "may" if it should`,
      )
    }
    case 'tenant:log':
      return console.error(`mayfly: ${named}: ${toPrintable(text!.trimEnd()).replaceAll('\n', '\n  ')}`)
  }
}

function toldOf(told: Map<string, Told>, tenant: string): Told {
  const known = told.get(tenant)
  if (known !== undefined) return known
  const made: Told = { faults: createFaultLog(), denied: new Set() }
  told.set(tenant, made)
  if (told.size > MAX_TOLD) told.delete(told.keys().next().value!)
  return made
}
