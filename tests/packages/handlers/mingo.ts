import type { Context } from '@mayfly/mayfly'
import { aggregate, find } from 'mingo'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { where: { age: { $gte: 18 }, 'address.city': { $in: ['Köln', 'Oslo'] } } } },
  { json: { where: { name: { $regex: '^[A-M]' }, tags: { $size: 2 } } } },
]

export async function POST(ctx: Context) {
  const { where } = await ctx.get.json<{ where: Record<string, unknown> }>()
  const people = PEOPLE.map((person) => ({ ...person }))
  const found = find(people, where, { name: 1, age: 1 }).sort({ age: -1 }).limit(5).all()
  const groups = aggregate(people, [
    { $unwind: '$tags' },
    { $group: { _id: '$tags', count: { $sum: 1 }, age: { $avg: '$age' } } },
    { $sort: { _id: 1 } },
  ])
  return ctx.send.json({ found, groups })
}
