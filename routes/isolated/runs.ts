import type { Handler } from '@mayfly/mayfly'
import { sayPhase } from '../_lib/isolation.ts'
import { siteOf } from '../_lib/site.ts'

/** The state of the machines and their last requests, newest first. */
export const GET: Handler = (ctx) => {
  const { isolation } = siteOf(ctx)
  return ctx.send.json({
    phase: isolation.phase,
    text: sayPhase(isolation),
    runs: isolation.runs.toReversed(),
  }, { headers: { 'cache-control': 'no-store' } })
}
