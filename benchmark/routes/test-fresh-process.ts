import type { Context } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'

const SCRIPT = fromFileUrl(new URL('../isolated/fresh_process.ts', import.meta.url))

/** The other way to run code apart without virtual machines: a process that answers once, without any permission. */
export async function GET(ctx: Context): Promise<Response> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '--no-prompt', '--no-check', '--no-config', '--no-remote', SCRIPT],
    stdin: 'null',
    stderr: 'inherit',
  }).output()
  if (!success) throw new Error(`Cannot answer: ${SCRIPT} failed, want a text on its standard output`)
  return ctx.send.json(JSON.parse(new TextDecoder().decode(stdout)))
}
