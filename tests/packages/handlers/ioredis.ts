import type { Context } from '@mayfly/mayfly'
import { toTexts } from '~/texts.ts'
import { Command, Redis } from 'ioredis'

export const inputs = [
  { json: ['SET', 'schlüssel', 'größe'] },
  { json: ['MGET', ...Array.from({ length: 50 }, (_, index) => `key:${index}`)] },
  { path: '?connect=1' },
]

const UNREACHABLE = { host: '127.0.0.1', port: 1, lazyConnect: true, retryStrategy: () => null }

export async function POST(ctx: Context) {
  const [name, ...args] = await ctx.get.json<string[]>()
  const command = new Command(name, args, { replyEncoding: 'utf8' })
  return ctx.send.json({ wire: String(command.toWritable(0 as never)), keys: command.getKeys() })
}

export async function GET(ctx: Context) {
  const redis = new Redis(UNREACHABLE)
  const seen: unknown[] = []
  redis.on('error', (error: unknown) => void seen.push(error))
  try {
    await redis.connect()
    return ctx.send.text(await redis.ping())
  } catch (error) {
    return ctx.send.json({ failed: [error, ...seen].flatMap(toTexts) }, { status: 502 })
  }
}
