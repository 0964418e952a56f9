import type { Context } from '@mayfly/mayfly'
import initSqlJs from 'sql.js/dist/sql-wasm-inline.js'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { text: 'select city, count(*) as n, avg(age) as age from people group by city order by n desc, city' },
  { text: "select name from people where name like '%ö%' or age > 60 order by age" },
  { text: 'select nothing' },
]

const { Database } = await initSqlJs()
const db = new Database()
db.run('create table people (name text, age integer, city text)')
for (const { name, age, address } of PEOPLE) {
  db.run('insert into people values (?, ?, ?)', [name, age, address.city])
}

/** SQLite in JavaScript, its table filled before the snapshot. */
export async function POST(ctx: Context) {
  try {
    const [result] = db.exec(await ctx.get.text())
    return ctx.send.json(result ?? null)
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
