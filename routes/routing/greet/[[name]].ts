import type { Handler } from '@mayfly/mayfly'

export const GET: Handler = (ctx) => ctx.send.text(`Good morning, ${ctx.get.param('name') ?? 'stranger'}\n`)
