import type { Context } from '@mayfly/mayfly'
import * as yup from 'yup'

export const inputs = [
  { form: { name: 'Søren', age: '44', site: 'https://example.com' } },
  { form: { name: '', age: 'x', site: 'no' } },
]

const schema = yup.object({
  name: yup.string().required('a name is wanted'),
  age: yup.number().integer().positive().required(),
  site: yup.string().url().nullable(),
})

export async function POST(ctx: Context) {
  try {
    const fields = Object.fromEntries(await ctx.get.formData())
    return ctx.send.json(await schema.validate(fields, { abortEarly: false }))
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error
    return ctx.send.json(error.inner.map(({ path, message }) => ({ path, message })), { status: 422 })
  }
}
