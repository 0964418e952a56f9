import type { Context } from '@mayfly/mayfly'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'

export const inputs = [
  { json: { id: 1, title: 'Größe', done: false, tags: ['a'] } },
  { json: { id: 'x', title: 5 } },
]

const Todo = Type.Object({
  id: Type.Integer(),
  title: Type.String({ minLength: 1 }),
  done: Type.Boolean({ default: false }),
  tags: Type.Optional(Type.Array(Type.String())),
})
const compiled = TypeCompiler.Compile(Todo)

export async function POST(ctx: Context) {
  const value = Value.Default(Todo, await ctx.get.json())
  const errors = [...compiled.Errors(value)].map(({ path, message }) => `${path}: ${message}`)
  return ctx.send.json({ valid: compiled.Check(value), errors, value }, {
    status: errors.length === 0 ? 200 : 422,
  })
}
