import type { Context } from '@mayfly/mayfly'

/** Behind the answer, however busy the machine is. */
const LATE_MS = 1000

export const isolated = { bindings: ['MAIL', 'slow'], warmup: 20 }

interface Env {
  readonly MAIL: { send(to: string): Promise<string> }
  slow(ms: number): Promise<number>
}

export async function GET(ctx: Context): Promise<Response> {
  const env = ctx.env as unknown as Env
  const what = ctx.get.query('what') ?? ''
  if (what === 'names') return ctx.send.json(Object.keys(env))
  if (what === 'many') return ctx.send.json(await Promise.all([5, 1, 3].map((ms) => env.slow(ms))))
  if (what === 'fetch') {
    return ctx.send.text(await fetch('https://example.com/').then(() => 'reached', (error) => error.message))
  }
  // A timer of the warm-up's would be in the snapshot, and go off in each request.
  if (what === 'late' && ctx.get.header('x-mayfly-warmup') === undefined) {
    setTimeout(() => env.MAIL.send('late').catch(() => {}), LATE_MS)
    return ctx.send.text('answered')
  }
  if (what === 'fail') {
    return ctx.send.text(await env.MAIL.send('nobody').catch((error) => `${error.name} ${error.message}`))
  }
  return ctx.send.text(await env.MAIL.send(what))
}
