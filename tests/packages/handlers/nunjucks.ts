import type { Context } from '@mayfly/mayfly'
import nunjucks from 'nunjucks'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { title: 'Größen & mehr', people: PEOPLE } },
  { json: { title: '<i>', people: [] } },
]

const environment = new nunjucks.Environment(null, { autoescape: true })
environment.addFilter('initials', (name: string) => name.split(' ').map((part) => part[0]).join(''))
const template = new nunjucks.Template(
  `{% macro row(p, index) %}<li>{{ index }} {{ p.name }} ({{ p.name | initials }}) {{ p.tags | join(', ') | upper }}</li>{% endmacro -%}
<h1>{{ title }}</h1>
{% for p in people | sort(false, false, 'age') %}{{ row(p, loop.index) }}
{% else %}nobody{% endfor %}{{ people | groupby('age') | length }}`,
  environment,
)

export async function POST(ctx: Context) {
  return ctx.send.html(template.render(await ctx.get.json<object>()))
}
