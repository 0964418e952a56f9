import type { Context } from '@mayfly/mayfly'
import jsonata from 'jsonata'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { text: 'people[age > 30]{address.city: $count(name)}' },
  { text: '$sort(people, function($a, $b) { $a.age > $b.age }).($uppercase(name) & " ü " & $string(age))' },
  { text: 'people[' },
]

export async function POST(ctx: Context) {
  try {
    const result = await jsonata(await ctx.get.text()).evaluate(DOCUMENT)
    return ctx.send.json({ result })
  } catch (error) {
    return ctx.send.json({ code: (error as { code?: string }).code }, { status: 422 })
  }
}
