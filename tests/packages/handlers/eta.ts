import type { Context } from '@mayfly/mayfly'
import { Eta } from 'eta'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Größen', people: PEOPLE } },
  { json: { title: '<i>', people: [] } },
]

const eta = new Eta({ autoTrim: ['nl', false] })
eta.loadTemplate(
  '@row',
  '<li class="<%= it.age >= 18 ? "adult" : "child" %>"><%= it.name %> <%= it.address.city %></li>\n',
)
eta.loadTemplate(
  '@page',
  '<h1><%= it.title %></h1>\n<% it.people.forEach((p) => { %><%~ include("@row", p) %><% }) %>\n',
)

export async function POST(ctx: Context) {
  return ctx.send.html(eta.render('@page', await ctx.get.json<object>()))
}
