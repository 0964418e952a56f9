import type { Context } from '@mayfly/mayfly'
import { toTexts } from '~/texts.ts'
import pg from 'pg'

export const inputs = [
  {
    json: {
      literal: "O'Größe \\ x",
      identifier: 'sch"ön',
      url: 'postgres://ann:s%40cret@db.example.com:5433/shop',
    },
  },
  { path: '?connect=1' },
]

export async function POST(ctx: Context) {
  const { literal, identifier, url } = await ctx.get.json<Record<string, string>>()
  const { host, port, user, database } = new pg.Client({ connectionString: url })
  return ctx.send.json({
    literal: pg.escapeLiteral(literal),
    identifier: pg.escapeIdentifier(identifier),
    host,
    port,
    user,
    database,
    parsed: pg.types.getTypeParser(1114)('2026-01-02 03:04:05').valueOf(),
    array: pg.types.getTypeParser(1007)('{1,2,NULL}'),
  })
}

export async function GET(ctx: Context) {
  const client = new pg.Client({ host: '127.0.0.1', port: 1, user: 'nobody' })
  try {
    await client.connect()
    return ctx.send.json((await client.query('select 1')).rows)
  } catch (error) {
    return ctx.send.json({ failed: toTexts(error) }, { status: 502 })
  }
}
