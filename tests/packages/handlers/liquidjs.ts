import type { Context } from '@mayfly/mayfly'
import { Liquid } from 'liquidjs'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { people: PEOPLE, day: '2026-05-04' } },
  { json: { people: [], day: '2026-12-31' } },
]

const engine = new Liquid({ timezoneOffset: 0 })
const template = engine.parse(
  `{% assign adults = people | where_exp: "p", "p.age >= 18" %}
{{ day | date: "%d.%m.%Y" }}: {{ adults | size }}
{% for person in people %}{{ forloop.index }}. {{ person.name | upcase | escape }} {{ person.tags | join: ", " }}
{% else %}nobody{% endfor %}`,
)

export async function POST(ctx: Context) {
  return ctx.send.text(
    await engine.render(template, await ctx.get.json<object>()),
  )
}
