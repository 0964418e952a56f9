/** What tenants need of the router that they are in. */
import type { LifecycleKind, TenantMetadata } from '../events/kinds.ts'
import type { IsolateRuntime } from '../isolate/plan/options.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

/** Events of tenants. */
export type TenantEventKind = Extract<LifecycleKind, `tenant:${string}`>

/** The router, as its tenants see it. */
export interface TenantsHost {
  readonly runtime: IsolateRuntime
  /** The sandbox as it is now: a router that was closed opens another. */
  readonly sandbox: () => Sandbox
  readonly tell: (kind: TenantEventKind, metadata: TenantMetadata) => void
}
