import type { Context } from '@mayfly/mayfly'
import { JSONPath } from 'jsonpath-plus'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { path: '?path=' + encodeURIComponent('$.people[?(@.age > 40)].name') },
  { path: '?path=' + encodeURIComponent("$..['city','title']") },
]

export function GET(ctx: Context) {
  const path = ctx.get.query('path')!
  return ctx.send.json({
    values: JSONPath({ path, json: DOCUMENT }),
    pointers: JSONPath({ path, json: DOCUMENT, resultType: 'pointer' }),
  })
}
