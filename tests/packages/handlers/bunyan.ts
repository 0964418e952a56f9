import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/bunyan"
import bunyan from 'bunyan'

export const inputs = [
  { json: { event: 'order', user: 'jörg', count: 3 } },
  { json: { event: 'login', user: null } },
]

/** It looks for machine code below a computed path, and does without. */
export async function POST(ctx: Context) {
  const { event, ...rest } = await ctx.get.json<Record<string, string>>()
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const log = bunyan.createLogger({ name: 'shop', level: 'debug', streams: [{ stream: stream as never }] })
  log.info(rest, event)
  log.child({ part: 'cart' }).debug('done')
  log.trace('not this one')
  return ctx.send.json(lines.map((line) => {
    const { name, level, msg, user, part } = JSON.parse(line)
    return { name, level, msg, user, part }
  }))
}
