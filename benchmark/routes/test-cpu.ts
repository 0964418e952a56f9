import type { Context } from '@mayfly/mayfly'
import { CPU_TERMS, sumOfRoots } from '../work.ts'

export function GET(ctx: Context): Response {
  return ctx.send.json({ value: sumOfRoots(CPU_TERMS) })
}
