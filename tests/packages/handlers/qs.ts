import type { Context } from '@mayfly/mayfly'
import qs from 'qs'

export const inputs = [
  { path: '?a[b][c]=1&a[b][d]=zw%C3%B6lf&list[]=1&list[]=2&x.y=3' },
  { json: { filter: { tags: ['a', 'ü'], since: null, deep: { er: { still: true } } }, page: 2 } },
]

export function GET(ctx: Context) {
  return ctx.send.json(qs.parse(new URL(ctx.get.url()).search, { ignoreQueryPrefix: true, allowDots: true }))
}

export async function POST(ctx: Context) {
  const value = await ctx.get.json()
  const texts = (['indices', 'brackets', 'repeat', 'comma'] as const).map((arrayFormat) =>
    qs.stringify(value, { arrayFormat })
  )
  return ctx.send.json({ texts, back: texts.map((text) => qs.parse(text)) })
}
