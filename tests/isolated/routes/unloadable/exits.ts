import type { Context } from '@mayfly/mayfly'

export const isolated = true

function end(): void {
  Deno.exit(3)
}

end()

export const GET = (ctx: Context) => ctx.send.text('never')
