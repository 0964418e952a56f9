import type { Context } from '@mayfly/mayfly'
import alasql from 'alasql'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { sql: 'SELECT COUNT(*) AS n, MAX(age) AS oldest FROM people' } },
  { json: { sql: 'SELECT name, age FROM people WHERE age > 40 ORDER BY age DESC, name LIMIT 3' } },
  { json: { sql: 'SELEKT name' } },
]

/** It asks for modules of React Native, in another language, where it runs there. */
export async function POST(ctx: Context) {
  const { sql } = await ctx.get.json<{ sql: string }>()
  const database = new alasql.Database()
  database.exec('CREATE TABLE people (name STRING, age INT)')
  ;(database.tables.people as { data: unknown }).data = PEOPLE.map(({ name, age }) => ({ name, age }))
  try {
    return ctx.send.json(database.exec(sql))
  } catch (error) {
    return ctx.send.text((error as Error).message.split('\n')[0], { status: 422 })
  }
}
