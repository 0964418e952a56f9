import type { RouterOptions } from '@mayfly/mayfly'
import { type Case, testCases } from './cases.ts'
import { defineSite } from './site.ts'

const PEER = '127.0.0.1'

/** X-Forwarded-For, and the address that each setting must see in it. */
const ROWS: readonly (readonly [RouterOptions['trustProxy'], string | undefined, string])[] = [
  [false, undefined, PEER],
  [false, '1.1.1.1', PEER],
  [true, undefined, PEER],
  [true, '1.1.1.1', '1.1.1.1'],
  [true, '1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [true, '1.1.1.1, junk, 2.2.2.2', '2.2.2.2'],
  [true, 'junk', PEER],
  [true, '', PEER],
  [true, '::ffff:1.2.3.4', '1.2.3.4'],
  [true, '2001:DB8::0001', '2001:db8::1'],
  [true, '1.1.1.1:80', PEER],
  [0, '1.1.1.1', PEER],
  [1, '1.1.1.1, 2.2.2.2', '2.2.2.2'],
  [2, '1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [2, '2.2.2.2', '2.2.2.2'],
  [2, '0.0.0.1, 1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [['127.0.0.1'], '1.1.1.1, 2.2.2.2', '2.2.2.2'],
  [['127.0.0.0/8', '2.2.2.2'], '1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [['127.0.0.0/8', '2.0.0.0/8', '1.0.0.0/8'], '9.9.9.9, 1.1.1.1, 2.2.2.2', '9.9.9.9'],
  [['10.0.0.0/8'], '1.1.1.1', PEER],
  [['127.0.0.0/8', '::ffff:2.2.2.2'], '1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [[], '1.1.1.1', PEER],
]

const groups = Map.groupBy(ROWS, ([trust]) => JSON.stringify(trust))
for (const [trust, rows] of groups) {
  testCases(
    `ip() with trustProxy ${trust}`,
    defineSite({ trustProxy: rows[0][0] }),
    rows.map(([, forwarded, wanted]): Case => ({
      name: `and X-Forwarded-For ${forwarded ?? 'absent'} is ${wanted}`,
      request: 'GET /ip',
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      status: 200,
      json: [wanted, PEER],
    })),
  )
}
