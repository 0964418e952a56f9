import type { Context } from '@mayfly/mayfly'
import avro from 'avsc'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: PEOPLE },
  { json: [{ name: 'Größe', age: 1, tags: [], address: { city: 'Köln', zip: '1' } }] },
  { json: [{ name: 1 }] },
]

const type = avro.Type.forSchema({
  type: 'array',
  items: {
    type: 'record',
    name: 'Person',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'age', type: 'int' },
      { name: 'tags', type: { type: 'array', items: 'string' } },
      { name: 'address', type: { type: 'map', values: 'string' } },
    ],
  },
})

export async function POST(ctx: Context) {
  const people = await ctx.get.json()
  if (!type.isValid(people)) return ctx.send.text('invalid', { status: 422 })
  const bytes = type.toBuffer(people)
  return ctx.send.custom(Uint8Array.from(bytes), {
    headers: { 'x-count': String(type.fromBuffer(bytes).length) },
  })
}
