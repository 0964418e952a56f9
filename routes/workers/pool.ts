import type { Context, Handler } from '@mayfly/mayfly'
import { HttpError } from '@mayfly/mayfly'
import { type Sum, TERMS } from '../_lib/cpu.ts'

const MOST_TASKS = 40

/** Sends `?tasks=n` sums to the pool at once. One alone that is refused is refused with the pool's own status. */
export const POST: Handler = async (ctx) => {
  const tasks = Math.min(Math.max(Math.trunc(Number(ctx.get.query('tasks') ?? 1)) || 1, 1), MOST_TASKS)
  if (tasks === 1) return ctx.send.json([{ status: 200, ms: (await sum(ctx)).ms }])
  const outcomes = await Promise.allSettled(Array.from({ length: tasks }, () => sum(ctx)))
  return ctx.send.json(outcomes.map(toRow))
}

function sum(ctx: Context): Promise<Sum> {
  if (ctx.worker === undefined) throw new HttpError(503, 'This site runs without a worker pool')
  return ctx.worker.run<Sum>({ terms: TERMS }, { signal: ctx.get.signal() })
}

function toRow(outcome: PromiseSettledResult<Sum>): { status: number; ms?: number } {
  if (outcome.status === 'fulfilled') return { status: 200, ms: outcome.value.ms }
  if (outcome.reason instanceof HttpError) return { status: outcome.reason.status }
  throw outcome.reason
}
