import type { Context } from '@mayfly/mayfly'

export const isolated = true

/** Drawn once, before the snapshot: every request sees the same. */
const atBoot = crypto.randomUUID()

/** Drawn in the request: new each time, though every request starts from the same memory. */
export function GET(ctx: Context) {
  const [word] = crypto.getRandomValues(new Uint32Array(1))
  return ctx.send.json({
    random: Math.random(),
    uuid: crypto.randomUUID(),
    word,
    now: new Date().toISOString(),
    atBoot,
  })
}
