import type { Context } from '@mayfly/mayfly'
import pino from 'pino'

export const inputs = [
  { json: { message: 'größe', password: 'secret', user: { id: 7 } } },
  { json: { message: 'x'.repeat(200), error: true } },
]

export async function POST(ctx: Context) {
  const lines: string[] = []
  const logger = pino({
    timestamp: false,
    base: { app: 'test' },
    redact: ['password'],
    serializers: { err: (error: Error) => ({ type: error.name, message: error.message }) },
  }, { write: (line: string) => void lines.push(line.trim()) })
  const { message, error, ...rest } = await ctx.get.json<{ message: string; error?: boolean }>()
  const child = logger.child({ request: 1 })
  for (let turn = 0; turn < 20; turn++) child.info({ ...rest, turn }, message)
  if (error === true) child.error({ err: new TypeError(message) }, 'failed')
  logger.debug('not shown')
  return ctx.send.json(lines)
}
