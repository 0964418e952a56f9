import type { Context } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { askProcess } from '../isolated/fresh.ts'

const SCRIPT = fromFileUrl(new URL('../isolated/fresh_process.ts', import.meta.url))

/** The other way to run code apart without virtual machines: a process that answers once, without any permission. */
export async function GET(ctx: Context): Promise<Response> {
  return ctx.send.json(await askProcess(SCRIPT))
}
