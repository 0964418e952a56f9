import type { Context } from '@mayfly/mayfly'
import { parse, stringify, v3, v5, v7, validate, version } from 'uuid'

export const inputs = [
  { path: '?name=example.com' },
  { path: '?name=gr%C3%B6%C3%9Fe' },
]

export function GET(ctx: Context) {
  const name = ctx.get.query('name')!
  const names = Array.from(
    { length: 50 },
    (_, index) => v5(name + index, v5.DNS),
  )
  const made = v7()
  return ctx.send.json({
    names,
    old: v3(name, v3.URL),
    same: stringify(parse(names[0])) === names[0],
    made: validate(made) && version(made),
  })
}
