import type { Context } from '@mayfly/mayfly'
import {
  bufferCount,
  filter,
  from,
  groupBy,
  lastValueFrom,
  map,
  mergeMap,
  reduce,
  scan,
  toArray,
  zip,
} from 'rxjs'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?min=18' },
  { path: '?min=99' },
]

export async function GET(ctx: Context) {
  const min = Number(ctx.get.query('min'))
  const people = from(PEOPLE).pipe(filter(({ age }) => age >= min))
  const byCity = people.pipe(
    groupBy(({ address }) => address.city),
    mergeMap((group) =>
      group.pipe(reduce((sum, { age }) => sum + age, 0), map((sum) => ({ city: group.key, sum })))
    ),
    toArray(),
  )
  const running = people.pipe(scan((sum, { age }) => sum + age, 0), bufferCount(5), toArray())
  const named = zip(people, from(['one', 'two', 'drei'])).pipe(
    map(([{ name }, label]) => `${label}: ${name}`),
    toArray(),
  )
  return ctx.send.json({
    byCity: await lastValueFrom(byCity),
    running: await lastValueFrom(running),
    named: await lastValueFrom(named),
  })
}
