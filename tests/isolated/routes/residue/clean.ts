import type { Context } from '@mayfly/mayfly'

export const isolated = true

/** Drawn when the module loads: the same in a machine that was never warmed. */
const id = crypto.randomUUID()
const squares = new Map<number, number>()

/** A cache that no answer shows, chance, and the clock. */
export function GET(ctx: Context): Response {
  for (let i = 0; i < 10; i++) squares.set(i, squares.get(i) ?? i * i)
  const { searchParams } = new URL(ctx.get.url())
  return ctx.send.json({ id, square: squares.get(3), random: Math.random(), asked: searchParams.get('id') })
}

export function POST(ctx: Context): Response {
  return ctx.send.json({ now: performance.timeOrigin + performance.now() })
}
