import type { Context } from '@mayfly/mayfly'
import Database from 'better-sqlite3'

export const inputs = [
  { path: '?a=1&b=2' },
]

/** A native add-on. */
export function GET(ctx: Context) {
  const db = new Database(':memory:')
  return ctx.send.json(db.prepare('select ? + ? as sum').get(ctx.get.query('a'), ctx.get.query('b')))
}
