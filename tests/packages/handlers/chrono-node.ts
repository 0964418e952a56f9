import type { Context } from '@mayfly/mayfly'
import * as chrono from 'chrono-node'

export const inputs = [
  { text: 'Meet me next friday at 5pm, or in two weeks, or on 24 December 2026 from 18:00 to 20:00.' },
  { path: '?locale=de', text: 'Wir treffen uns übermorgen um 15 Uhr oder am 3. März 2027.' },
]

const NOW = { instant: new Date('2026-05-04T10:00:00Z'), timezone: 0 }

export async function POST(ctx: Context) {
  const parser = ctx.get.query('locale') === 'de' ? chrono.de : chrono
  const found = parser.parse(await ctx.get.text(), NOW)
  return ctx.send.json(found.map(({ text, index, start, end }) => ({
    text,
    index,
    start: start.date().toISOString(),
    end: end?.date().toISOString(),
  })))
}
