import type { Handler } from '@mayfly/mayfly'
import { sumOfRoots, TERMS } from '../_lib/cpu.ts'

const TASKS = 8

/** Eight sums on the main thread: nobody else is answered until they are done. */
export const POST: Handler = (ctx) =>
  ctx.send.json(Array.from({ length: TASKS }, () => ({ status: 200, ms: sumOfRoots(TERMS).ms })))
