import type { Context } from '@mayfly/mayfly'
import { Writable } from 'node:stream'
import winston from 'winston'

export const inputs = [
  { json: { level: 'info', message: 'größe', user: { id: 7 } } },
  { json: { level: 'debug', message: 'not shown' } },
  { json: { level: 'error', message: 'failed %s', splat: ['badly'] } },
]

export async function POST(ctx: Context) {
  const lines: string[] = []
  const stream = new Writable({
    write: (chunk, _, done) => {
      lines.push(String(chunk).trim())
      done()
    },
  })
  const logger = winston.createLogger({
    level: 'info',
    format: winston.format.combine(
      winston.format.splat(),
      winston.format.label({ label: 'app' }),
      winston.format.json(),
    ),
    defaultMeta: { service: 'test' },
    transports: [new winston.transports.Stream({ stream })],
  })
  const { level, ...rest } = await ctx.get.json<{ level: string; message: string }>()
  for (let turn = 0; turn < 20; turn++) logger.log({ level, ...rest, turn })
  logger.end()
  await new Promise((resolve) => logger.on('finish', resolve))
  return ctx.send.json(lines)
}
