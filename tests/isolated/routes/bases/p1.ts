import type { Context } from '@mayfly/mayfly'
import { tell } from '../../base_helper.ts'

export { beforeSnapshot } from '../../base_helper.ts'

/** A program of its own, on the base that its neighbours have too. */
export const isolated = { timeoutMs: 5001, warmup: 20 }

export const GET = (ctx: Context) => tell(ctx, 'p1')
