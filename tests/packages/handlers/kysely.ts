import type { Context } from '@mayfly/mayfly'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely'

export const inputs = [
  { json: { name: "O'Größe", min: 5 } },
  { json: { name: '%x', min: 0 } },
]

interface Database {
  users: { id: number; name: string; age: number | null }
  orders: { id: number; user_id: number; total: number }
}

const db = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

export async function POST(ctx: Context) {
  const { name, min } = await ctx.get.json<{ name: string; min: number }>()
  const query = db.selectFrom('users as u').innerJoin('orders as o', 'o.user_id', 'u.id')
    .select(['u.name', (eb) => eb.fn.sum<number>('o.total').as('sum')])
    .where((eb) => eb.or([eb('u.name', 'like', name), eb('u.age', '>', min)]))
    .groupBy('u.name').having(sql<number>`count(*)`, '>', min).orderBy('sum', 'desc').limit(5).compile()
  const insert = db.insertInto('users').values({ id: 1, name, age: null }).returning('id').compile()
  return ctx.send.json({
    sql: query.sql,
    parameters: query.parameters,
    insert: insert.sql,
    rows: await db.selectFrom('users').selectAll().execute(),
  })
}
