import type { Context } from '@mayfly/mayfly'
import pug from 'pug'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Größen', people: PEOPLE } },
  { json: { title: '<i>', people: [] } },
]

const page = pug.compile(`doctype html
html(lang='de')
  head: title= title
  body
    mixin person(p, index)
      li(id='p' + index class=p.age >= 18 ? 'adult' : 'child')
        | #{p.name}, #[em= p.address.city]
    ul
      each p, index in people
        +person(p, index)
      else
        li nobody
`)

export async function POST(ctx: Context) {
  return ctx.send.html(page(await ctx.get.json<pug.LocalsObject>()))
}
