import type { Context } from '@mayfly/mayfly'
import { BSON, Decimal128, Long, ObjectId } from 'bson'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { json: DOCUMENT },
  { json: { größe: 1, list: [1, 'zwei', null] } },
]

export async function POST(ctx: Context) {
  const bytes = BSON.serialize({
    ...await ctx.get.json<object>(),
    _id: new ObjectId('507f1f77bcf86cd799439011'),
    at: new Date('2026-01-02T03:04:05Z'),
    long: Long.fromString('9007199254740993'),
    price: Decimal128.fromString('19.99'),
  })
  const back = BSON.deserialize(bytes)
  return ctx.send.json({ size: bytes.length, text: BSON.EJSON.stringify(back, { relaxed: false }) })
}
