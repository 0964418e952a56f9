import type { Context } from '@mayfly/mayfly'
import { IntlMessageFormat } from 'intl-messageformat'

export const inputs = [
  { path: '?locale=en', json: { count: 3, who: 'Ann', price: 1234.5 } },
  { path: '?locale=de', json: { count: 1, who: 'Jörg', price: 0.5 } },
]

const TEXTS: Readonly<Record<string, string>> = {
  en:
    '{who} has {count, plural, =0 {nothing} one {# book} other {# books}} for {price, number, ::currency/EUR}',
  de:
    '{who} hat {count, plural, =0 {nichts} one {# Buch} other {# Bücher}} für {price, number, ::currency/EUR}',
}

export async function POST(ctx: Context) {
  const locale = ctx.get.query('locale') ?? 'en'
  const values = await ctx.get.json<Record<string, string | number>>()
  return ctx.send.text(
    String(new IntlMessageFormat(TEXTS[locale], locale).format(values)),
  )
}
