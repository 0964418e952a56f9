import { serverTiming } from '@mayfly/mayfly'
import { assertEquals, assertMatch } from '@std/assert'
import { answer, assertRefused, makeSite } from './site.ts'

async function timing(give: Parameters<typeof answer>[0], options = {}): Promise<string | null> {
  const response = await makeSite([serverTiming(options), answer(give)]).ask('/')
  await response.body?.cancel()
  return response.headers.get('server-timing')
}

Deno.test('serverTiming gives the total', async () => {
  assertMatch((await timing(() => 1))!, /^total;dur=\d+(?:\.\d{1,2})?$/)
})

Deno.test('serverTiming notes steps in order and gives what they give', async () => {
  const header = await timing(async (ctx) => {
    const one = ctx.state.measure!('parse', () => 1)
    const two = await ctx.state.measure!('db', () => Promise.resolve(2), 'the "big" query')
    assertEquals([one, two], [1, 2])
  })
  assertMatch(header!, /^parse;dur=[\d.]+, db;dur=[\d.]+;desc="the \\"big\\" query", total;dur=[\d.]+$/)
})

Deno.test('serverTiming notes a step that fails, and passes the error on', async () => {
  const response = await makeSite([
    serverTiming({ total: false }),
    answer(async (ctx) => {
      const caught: string[] = []
      const keep = (error: Error) => caught.push(error.message)
      try {
        ctx.state.measure!('sync', () => {
          throw new Error('one')
        })
      } catch (error) {
        keep(error as Error)
      }
      await ctx.state.measure!('async', () => Promise.reject(new Error('two'))).catch(keep)
      return caught
    }),
  ]).ask('/')
  assertEquals(await response.json(), ['one', 'two'])
  assertMatch(response.headers.get('server-timing')!, /^sync;dur=[\d.]+, async;dur=[\d.]+$/)
})

Deno.test('serverTiming is on an error page too', async () => {
  assertMatch((await makeSite([serverTiming()]).ask('/boom')).headers.get('server-timing')!, /^total/)
})

Deno.test('serverTiming shows nothing when it is not enabled, and steps still run', async () => {
  assertEquals(await timing((ctx) => ctx.state.measure!('db', () => 1), { enabled: false }), null)
  assertEquals(await timing(() => 1, { enabled: () => false }), null)
  assertMatch((await timing(() => 1, { enabled: () => true }))!, /total/)
})

Deno.test('serverTiming sends no empty header', async () => {
  assertEquals(await timing(() => 1, { total: false }), null)
})

Deno.test('serverTiming keeps at most 100 steps', async () => {
  const header = await timing((ctx) => {
    for (let step = 0; step < 500; step++) ctx.state.measure!('step', () => step)
  }, { total: false })
  assertEquals(header!.split(', ').length, 100)
})

for (const name of ['', 'a b', 'a;b', 'ä', 'a,b']) {
  Deno.test(`serverTiming refuses the name "${name}"`, async () => {
    const { ask, only } = makeSite([serverTiming(), answer((ctx) => ctx.state.measure!(name, () => 1))])
    assertEquals((await ask('/')).status, 500)
    assertMatch(String(only('request:error').error), /TypeError: Cannot measure: name is/)
  })
}

Deno.test('serverTiming refuses a description that could end the header', async () => {
  const { ask } = makeSite([serverTiming(), answer((ctx) => ctx.state.measure!('a', () => 1, 'x\r\ny: z'))])
  assertEquals((await ask('/')).status, 500)
})

Deno.test('serverTiming checks its options', () => {
  assertRefused(
    () => serverTiming({ enabled: 'no' as never }),
    TypeError,
    'enabled is "no", want true, false or a function',
  )
  assertRefused(() => serverTiming({ total: 1 as never }), TypeError, 'total is 1')
})
