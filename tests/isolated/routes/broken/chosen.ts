/** As `panics.ts`, with requests of the author's. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  group: 'broken',
  warmup: [{ path: '/chosen?level=1' }, { path: '/chosen?level=x' }],
}

let isBroken = false

export function GET(ctx: Context): Response {
  const level = Number(ctx.get.query('level'))
  isBroken ||= Number.isNaN(level)
  if (isBroken) throw new Error('of no use any more')
  return ctx.send.text(`level ${level}`)
}
