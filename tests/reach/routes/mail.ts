import type { Context } from '@mayfly/mayfly'

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
  if (what === 'late') {
    setTimeout(() => env.MAIL.send('late').catch(() => {}), 0)
    return ctx.send.text('answered')
  }
  if (what === 'fail') {
    return ctx.send.text(await env.MAIL.send('nobody').catch((error) => `${error.name} ${error.message}`))
  }
  return ctx.send.text(await env.MAIL.send(what))
}
