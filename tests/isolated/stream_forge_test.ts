/** Handlers that say what they like on the channel of streams: each ends, and the next request is right. */
import { assert, assertEquals } from '@std/assert'
import { until } from '../until.ts'
import { openSite, testIsolated } from './fixture.ts'

/** How a client sees the deed: all of a body, one that breaks, or 502; and what the events say of it. */
const ENDS: Readonly<Record<string, readonly ['whole' | 'broken' | 'refused', reason: RegExp]>> = {
  piece_behind_end: ['whole', /behind the end/],
  end_twice: ['whole', /behind the end/],
  many_behind_end: ['whole', /behind the end/],
  no_head: ['refused', /belongs to no stream/],
  end_alone: ['refused', /belongs to no stream/],
  head_twice: ['broken', /no piece/],
  head_of_another: ['broken', /belongs to no stream/],
  unknown_id: ['broken', /belongs to no stream/],
  id_of_the_channel: ['broken', /belongs to no stream/],
  credit_ignored: ['broken', /more than was asked for/],
  piece_over_the_window: ['broken', /more than was asked for/],
  piece_of_nothing: ['broken', /more than was asked for/],
  piece_over_a_message: ['broken', /outputBytes/],
  head_over_a_message: ['broken', /outputBytes/],
  no_id: ['broken', /./],
  verb_unknown: ['broken', /no piece/],
  verb_no_array: ['broken', /no piece/],
  verb_no_json: ['broken', /no piece/],
  verb_with_more: ['broken', /no piece/],
  credit_of_its_own: ['broken', /no piece/],
  head_no_json: ['refused', /./],
  head_no_object: ['refused', /./],
  head_of_numbers: ['refused', /./],
  head_of_no_body: ['refused', /has a body/],
  head_early: ['refused', /./],
  head_splits: ['refused', /./],
  head_huge: ['refused', /./],
  a_call: ['refused', /belongs to no stream/],
  a_fetch: ['refused', /belongs to no stream/],
  a_body: ['refused', /belongs to no stream/],
  a_body_behind_the_head: ['broken', /belongs to no stream/],
}

testIsolated('each deed on the channel of streams ends its own request alone', async () => {
  const site = openSite('stream-forge')
  try {
    await site.router.ready()
    const open = (what: string) => site.router.fetch(new Request(`http://localhost/do?what=${what}`))
    const crashes = () => site.events.filter(({ kind }) => kind === 'isolate:crash')
    for (const [deed, [end, reason]] of Object.entries(ENDS)) {
      site.events.length = 0
      const response = await open(deed)
      assertEquals(response.status, end === 'refused' ? 502 : 200, deed)
      assertEquals(response.headers.get('x-injected'), null)
      // Whoever reads gives credit: a slow program beside a quick reader would keep to the rules.
      await until(`the event of ${deed}`, () => crashes().length > 0)
      const read = await response.text().then((text) => ({ text }), (error: Error) => ({ error }))
      if (end === 'whole') assert('text' in read && /^(piece;)?$/.test(read.text), `${deed}: whole`)
      if (end === 'broken') assert('error' in read, `${deed}: ${Deno.inspect(read)}`)
      const told = crashes().map(({ metadata }) => (metadata as { reason?: string }).reason ?? '')
      assert(told.length === 1 && reason.test(told[0]!), `${deed}: ${Deno.inspect(told)}`)
      assertEquals(await (await open('hello')).text(), await (await open('hello')).text(), deed)
    }
    const right = await open('by_the_rules')
    assertEquals([right.headers.get('x-own'), await right.text()], ['yes', 'piece;piece;'])
  } finally {
    await site.close()
  }
})
