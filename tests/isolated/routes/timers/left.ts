/** Each request leaves timers behind, as packages do that batch, cache or sweep. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 20_000, warmup: [{ path: '/left' }] }

let sent = 0
let batch: string[] = []
let isScheduled = false
let ticks = 0
let sweeper: number | undefined
let beats = 0
// The program's own.
setInterval(() => beats++, 50)

/** Collects, and sends a moment later what was collected. */
function collect(what: string): void {
  batch.push(what)
  if (isScheduled) return
  isScheduled = true
  setTimeout(() => {
    sent += batch.length
    batch = []
    isScheduled = false
  }, 20)
}

export async function GET(ctx: Context): Promise<Response> {
  const before = { sent, ticks, beats, isScheduled, waiting: batch.length }
  collect('a')
  sweeper ??= setInterval(() => ticks++, 10) as unknown as number
  setTimeout(() => ticks++, 120_000)
  const wait = Number(ctx.get.query('wait') ?? 0)
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  return ctx.send.json({
    before,
    sent: sent - before.sent,
    ticks: ticks - before.ticks,
    beats: beats - before.beats > 0,
  })
}
