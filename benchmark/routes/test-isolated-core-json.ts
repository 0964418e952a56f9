import type { Context } from '@mayfly/mayfly'
import { PEOPLE } from '../work.ts'

/** Options of its own make a program of its own, whose pages no other row copies. */
export const isolated = { runtime: 'core', timeoutMs: 2000 }

export function GET(ctx: Context): Response {
  return ctx.send.json(PEOPLE)
}
