import type { Context } from '@mayfly/mayfly'
import { askWorker } from '../isolated/fresh.ts'

const SCRIPT = new URL('../isolated/fresh_worker.ts', import.meta.url).href

/** What runs code apart without virtual machines: a worker that answers once. */
export async function GET(ctx: Context): Promise<Response> {
  return ctx.send.json(await askWorker(SCRIPT))
}
