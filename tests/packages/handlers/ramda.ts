import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/ramda"
import * as R from 'ramda'
import { PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { path: '?key=city' },
  { path: '?key=zip' },
]

export function GET(ctx: Context) {
  const key = ctx.get.query('key')!
  const place = R.path<string>(['address', key])
  const groups = R.mapObjIndexed(
    (people?: readonly Person[]) => R.pluck('name', people ?? []),
    R.groupBy((person: Person) => place(person) ?? '')(PEOPLE),
  )
  return ctx.send.json({
    groups,
    sorted: R.sortWith([R.descend(R.prop('age')), R.ascend(R.prop('name'))], PEOPLE).slice(0, 5).map((
      { name },
    ) => name),
    lens: R.over(R.lensPath(['address', 'city']), R.toUpper, PEOPLE[0]),
    tags: R.uniq(R.chain(R.prop('tags'), PEOPLE)),
    window: R.aperture(3, R.range(0, 20)).map(R.sum),
  })
}
