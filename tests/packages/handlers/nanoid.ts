import type { Context } from '@mayfly/mayfly'
import { customAlphabet, nanoid } from 'nanoid'

export const inputs = [
  { path: '?size=21&count=100' },
  { path: '?size=8&count=10' },
]

const digits = customAlphabet('0123456789', 12)

/** Ids are random: the answer tells what is the same of all of them. */
export function GET(ctx: Context) {
  const [size, count] = ['size', 'count'].map((name) => Number(ctx.get.query(name)))
  const ids = Array.from({ length: count }, () => nanoid(size))
  return ctx.send.json({
    different: new Set(ids).size,
    lengths: [...new Set(ids.map((id) => id.length))],
    shape: ids.every((id) => /^[\w-]+$/.test(id)),
    digits: /^\d{12}$/.test(digits()),
  })
}
