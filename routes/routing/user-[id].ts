import type { Handler } from '@mayfly/mayfly'

export const GET: Handler = (ctx) => ctx.send.json({ id: ctx.get.param('id') })
