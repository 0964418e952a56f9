import type { Context } from '@mayfly/mayfly'

export const GET = (ctx: Context) => ctx.send.text('ready')
