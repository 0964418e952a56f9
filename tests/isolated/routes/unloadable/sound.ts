import type { Context } from '@mayfly/mayfly'

export const isolated = true

export const GET = (ctx: Context) => ctx.send.text('sound')
