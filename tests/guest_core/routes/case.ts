/** Runs the case that `?name=` names, over the globals of the runtime. */
import type { Context } from '@mayfly/mayfly'
import { outcomeOf } from '../cases/case.ts'
import { CASES } from '../cases/mod.ts'

export const isolated = { timeoutMs: 10_000, warmup: [{ path: '/case?name=Headers:%20append' }] }

export async function GET(ctx: Context): Promise<Response> {
  const run = CASES[ctx.get.query('name')!]
  return run === undefined ? ctx.send.empty(404) : ctx.send.text(await outcomeOf(globalThis, run))
}
