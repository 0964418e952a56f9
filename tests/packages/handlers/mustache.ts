import type { Context } from '@mayfly/mayfly'
import Mustache from 'mustache'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Größen & mehr', people: PEOPLE } },
  { json: { title: 'none' } },
]

const TEMPLATE = '<h1>{{title}}</h1>{{#people}}{{> person}}{{/people}}{{^people}}nobody{{/people}}'
const PARTIALS = {
  person: '<li>{{name}} {{{address.city}}} {{#tags}}[{{.}}]{{/tags}}</li>\n',
}

export async function POST(ctx: Context) {
  return ctx.send.html(
    Mustache.render(TEMPLATE, await ctx.get.json(), PARTIALS),
  )
}
