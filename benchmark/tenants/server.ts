/** A router with the tenants of plan.ts, on `PORT` of 127.0.0.1. */
import { Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { find } from './plan.ts'

/** For snapshots and machines, in MiB. */
const BUDGET_MB = 1024

if (import.meta.main) {
  const router = new Router({
    routesDir: fromFileUrl(new URL('./routes', import.meta.url)),
    hotReload: false,
    tenants: find,
    isolate: { memoryBudgetMb: BUDGET_MB },
  })
  await router.serve({ hostname: '127.0.0.1', port: Number(Deno.env.get('PORT')) })
}
