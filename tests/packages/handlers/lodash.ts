import type { Context } from '@mayfly/mayfly'
import _ from 'lodash'
import { PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { path: '?by=address.city' },
  { path: '?by=age' },
  { json: { template: 'Hello <%= name %>, <%- tags.join() %>' } },
]

export function GET(ctx: Context) {
  const by = ctx.get.query('by') ?? 'name'
  return ctx.send.json({
    groups: _(PEOPLE).groupBy(by).mapValues((group: Person[]) => _.map(group, 'name'))
      .toPairs().sortBy(0).value(),
    ages: _.chain(PEOPLE).map('age').uniq().sortBy().chunk(3).value(),
    tags: _.countBy(_.flatMap(PEOPLE, 'tags')),
    deep: _.merge(
      {},
      ...PEOPLE.map(({ address }) => ({ [address.city]: { people: 1 } })),
    ),
    words: PEOPLE.map(({ name }) => _.kebabCase(_.deburr(name))),
  })
}

export async function POST(ctx: Context) {
  const { template } = await ctx.get.json<{ template: string }>()
  const render = _.template(template)
  return ctx.send.text(PEOPLE.map((person) => render(person)).join('\n'))
}
