import type { Context } from '@mayfly/mayfly'
import { type } from 'arktype'

export const inputs = [
  { json: { name: 'Änne', age: 30, mail: 'a@example.com', tags: ['x'] } },
  { json: { name: '', age: -1, mail: 'no', tags: [1] } },
]

const User = type({
  name: '1 <= string <= 50',
  age: 'number.integer >= 0',
  mail: 'string.email',
  'tags?': 'string[]',
})

export async function POST(ctx: Context) {
  const user = User(await ctx.get.json())
  if (user instanceof type.errors) return ctx.send.text(user.summary, { status: 422 })
  return ctx.send.json(user)
}
