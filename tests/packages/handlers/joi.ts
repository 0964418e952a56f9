import type { Context } from '@mayfly/mayfly'
import Joi from 'joi'

export const inputs = [
  { json: { name: ' Jörg ', password: 'abc12345', repeat: 'abc12345', born: '1990-02-03T00:00:00Z' } },
  { json: { name: 'J', password: 'short', repeat: 'other' } },
]

const schema = Joi.object({
  name: Joi.string().trim().min(2).required(),
  password: Joi.string().pattern(/^[a-z0-9]{8,}$/).required(),
  repeat: Joi.ref('password'),
  born: Joi.date().iso().max('2020-01-01'),
  roles: Joi.array().items(Joi.string().valid('user', 'admin')).default(['user']),
}).with('password', 'repeat')

export async function POST(ctx: Context) {
  const { value, error } = schema.validate(await ctx.get.json(), { abortEarly: false })
  if (error !== undefined) return ctx.send.json(error.details.map(({ message }) => message), { status: 422 })
  return ctx.send.json(value)
}
