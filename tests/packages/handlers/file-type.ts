import type { Context } from '@mayfly/mayfly'
import { fileTypeFromBuffer } from 'file-type'

export const inputs = [
  {
    base64:
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
  { base64: 'JVBERi0xLjcKJeLjz9MK' },
  { text: 'nur Text, größer' },
]

export async function POST(ctx: Context) {
  const found = await fileTypeFromBuffer(await ctx.get.bytes())
  return ctx.send.json(found ?? null)
}
