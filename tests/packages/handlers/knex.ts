import type { Context } from '@mayfly/mayfly'
import knex from 'knex'

export const inputs = [
  { json: { name: "O'Größe", min: 5 } },
  { json: { name: '%x', min: 0 } },
]

const db = knex({ client: 'pg' })

/** Builds queries without a database. */
export async function POST(ctx: Context) {
  const { name, min } = await ctx.get.json<{ name: string; min: number }>()
  const query = db('orders as o').join('users as u', 'u.id', 'o.user_id').where('u.name', 'like', name)
    .andWhere((builder) => void builder.where('o.total', '>', min).orWhereNull('o.total'))
    .groupBy('u.id').having(db.raw('count(*) > ?', [min])).orderBy('u.id', 'desc').limit(10).select(
      'u.id',
      db.raw('count(*)'),
    )
  const insert = db('users').insert([{ name, age: min }, { name: 'b' }]).onConflict('name').merge()
  const { sql, bindings } = query.toSQL().toNative()
  return ctx.send.json({ sql, bindings, text: query.toQuery(), insert: insert.toQuery() })
}
