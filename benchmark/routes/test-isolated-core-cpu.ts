import type { Context } from '@mayfly/mayfly'
import { CPU_TERMS, sumOfRoots } from '../work.ts'

export const isolated = { runtime: 'core' }

export function GET(ctx: Context): Response {
  return ctx.send.json({ value: sumOfRoots(CPU_TERMS) })
}
