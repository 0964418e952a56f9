import type { Context } from '@mayfly/mayfly'
import { decodeTime, encodeTime, isValid, monotonicFactory, ulid } from 'ulid'

export const inputs = [
  { path: '?at=1767225600000' },
  { path: '?at=1' },
]

export function GET(ctx: Context) {
  const at = Number(ctx.get.query('at'))
  const next = monotonicFactory(() => 0.5)
  const ids = Array.from({ length: 200 }, () => next(at))
  return ctx.send.json({
    ids,
    time: encodeTime(at, 10),
    back: decodeTime(ids[199]),
    sorted: ids.toSorted().join() === ids.join(),
    drawn: isValid(ulid(at)),
  })
}
