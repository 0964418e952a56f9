import type { Context } from '@mayfly/mayfly'
import Handlebars from 'handlebars'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Leute & Orte', people: PEOPLE } },
  { json: { title: '<none>', people: [] } },
]

Handlebars.registerHelper('shout', (text: string) => text.toUpperCase())
const template = Handlebars.compile(`<h1>{{title}}</h1>
{{#each people}}<li class="{{#if @first}}first{{/if}}">{{shout name}} ({{age}}){{#with address}} {{city}}{{/with}}</li>
{{else}}<p>nobody</p>{{/each}}`)

export async function POST(ctx: Context) {
  return ctx.send.html(template(await ctx.get.json()))
}
