import type { Context } from '@mayfly/mayfly'
import * as v from 'valibot'

export const inputs = [
  { form: { name: 'Ann', age: '41', site: 'https://example.com/ü' } },
  { form: { name: '', age: 'old', site: 'nowhere' } },
]

const Form = v.object({
  name: v.pipe(v.string(), v.trim(), v.nonEmpty('a name is wanted')),
  age: v.pipe(
    v.string(),
    v.transform(Number),
    v.number(),
    v.integer(),
    v.minValue(0),
  ),
  site: v.optional(v.pipe(v.string(), v.url())),
})

export async function POST(ctx: Context) {
  const result = v.safeParse(
    Form,
    Object.fromEntries(await ctx.get.formData()),
  )
  if (result.success) return ctx.send.json(result.output)
  return ctx.send.json(v.flatten(result.issues), { status: 422 })
}
