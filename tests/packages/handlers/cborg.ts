import type { Context } from '@mayfly/mayfly'
import { decode, encode } from 'cborg'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { json: DOCUMENT },
  { path: '?back=1', base64: 'omFhAWFiZ2dyw7bDn2U=' },
]

export async function POST(ctx: Context) {
  if (ctx.get.query('back') !== undefined) return ctx.send.json({ value: decode(await ctx.get.bytes()) })
  const bytes = encode(await ctx.get.json())
  ctx.set.header('x-people', String(decode(bytes).people?.length))
  return ctx.send.custom(bytes.slice(), { headers: { 'content-type': 'application/cbor' } })
}
