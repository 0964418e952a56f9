import type { Context } from '@mayfly/mayfly'
import debug from 'debug'

export const inputs = [
  { path: '?enable=app:*,-app:quiet' },
  { path: '?enable=none' },
]

export function GET(ctx: Context) {
  debug.enable(ctx.get.query('enable')!)
  const lines: string[] = []
  for (const name of ['app:db', 'app:quiet', 'other']) {
    const log = debug(name)
    log.color = 1 as never
    log.log = (...args: unknown[]) => void lines.push(args.join(' ').replace(/^\S+Z |\+\d+ms/g, '').trim())
    log('%s is %d and %j', 'größe', 7, { a: 1 })
  }
  return ctx.send.json({ lines, enabled: ['app:db', 'app:quiet'].map((name) => debug.enabled(name)) })
}
