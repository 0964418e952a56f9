import type { Handler } from '@mayfly/mayfly'
import { showTenants } from '../_lib/tenants/page.ts'

export const GET: Handler = (ctx) => showTenants(ctx)
