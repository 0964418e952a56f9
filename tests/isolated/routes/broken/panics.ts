/** A module that one bad request leaves of no use, as WebAssembly is that panicked. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { group: 'broken' }

let isBroken = false

export function GET(ctx: Context): Response {
  if (isBroken) throw new Error('of no use any more')
  const level = Number(ctx.get.query('level'))
  if (Number.isNaN(level)) {
    isBroken = true
    throw new Error('it panicked')
  }
  return ctx.send.text(`level ${level}`)
}
