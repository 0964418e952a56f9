import type { Context } from '@mayfly/mayfly'
import ejs from 'ejs'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Größen', people: PEOPLE } },
  { json: { title: '<i>', people: [] } },
]

const page = ejs.compile(`<h1><%= title %></h1>
<% people.forEach((person, index) => { -%>
  <li id="p<%= index %>"><%- person.name.bold() %> <%= person.address.city %></li>
<% }) -%>
<%_ if (people.length === 0) { _%>
<p>nobody</p>
<%_ } _%>`)

export async function POST(ctx: Context) {
  return ctx.send.html(page(await ctx.get.json()))
}
