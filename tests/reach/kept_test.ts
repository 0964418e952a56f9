/** Programs that keep their state, in machines. */
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assertEquals, assertRejects } from '@std/assert'
import { MISSING } from '../isolated/fixture.ts'

const COUNTER = `
let count = 33436183
const order = []
export const next = () => \`Hello \${++count} World!\`
export const list = () => order
export const boom = () => { Deno.exit(3) }
export const spin = () => { for (;;); }
export const slow = async (n) => { order.push('in' + n); await new Promise((go) => setTimeout(go, 1)); order.push('out' + n) }
export default { fetch: () => new Response(next()) }`

const code = (text: string, more = {}) => ({ mainModule: 'a.js', modules: { 'a.js': text }, ...more })

Deno.test({
  name: 'a kept program answers one call after the other, and goes on after a crash',
  ignore: MISSING !== '',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    await using sandbox = await Sandbox.open({ vms: 2, limits: { timeoutMs: 5000 } })
    const counter = sandbox.get('counter', code(COUNTER), { ephemeral: false })
    await t.step('each request counts one more', async () => {
      assertEquals(await counter.call('next'), 'Hello 33436184 World!')
      assertEquals(await (await counter.fetch('http://counter/')).text(), 'Hello 33436185 World!')
      const many = await Promise.all(Array.from({ length: 50 }, () => counter.call('next')))
      assertEquals(many, many.map((_, at) => `Hello ${33436186 + at} World!`))
    })
    await t.step('calls never overlap', async () => {
      await Promise.all([1, 2, 3].map((n) => counter.call('slow', n)))
      assertEquals(await counter.call('list'), ['in1', 'out1', 'in2', 'out2', 'in3', 'out3'])
    })
    await t.step('other programs call it, from many machines', async () => {
      const front = sandbox.get(
        'front',
        code(
          `export default { async fetch(request, env) { return new Response(await env.COUNTER.next()) } }`,
          { env: { COUNTER: counter } },
        ),
      )
      const texts = await Promise.all(
        Array.from({ length: 30 }, async () => await (await front.fetch('http://x/')).text()),
      )
      assertEquals(new Set(texts).size, 30)
      assertEquals(await counter.call('next'), `Hello ${33436185 + 50 + 31} World!`)
    })
    await t.step('a crash answers its call alone, and the program begins anew', async () => {
      const calls = await Promise.allSettled([
        counter.call('next'),
        counter.call('boom'),
        counter.call('next'),
        counter.call('next'),
      ])
      assertEquals(calls.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
      assertEquals(calls.slice(2).map((call) => (call as PromiseFulfilledResult<unknown>).value), [
        'Hello 33436184 World!',
        'Hello 33436185 World!',
      ])
      await assertRejects(
        () => counter.entrypoint('default', { limits: { timeoutMs: 50 } }).call('spin'),
        Error,
        '50 ms',
      )
      assertEquals(await counter.call('next'), 'Hello 33436184 World!')
    })
    await t.step(
      'a version hands over to the next, and one that does not load leaves it as it was',
      async () => {
        const text = (by: number) =>
          `let count = 0
export const next = () => count += ${by}
export const handover = () => count
export const takeover = (value) => { if (value > 100) throw new Error('too many'); count = value }`
        const get = (version: string, by: number | string) =>
          sandbox.get('swapped', code(typeof by === 'string' ? by : text(by)), { ephemeral: false, version })
        const one = get('1', 1)
        assertEquals([await one.call('next'), await one.call('next')], [1, 2])
        const two = get('2', 50)
        await two.ready()
        assertEquals([await two.call('next'), await one.call('next'), await two.call('next')], [52, 102, 152])
        await assertRejects(() => get('3', 1).ready(), Error, 'too many')
        assertEquals(await two.call('next'), 202)
        await assertRejects(() => get('4', 'no code at all').ready(), Error)
        assertEquals(await two.call('next'), 252)
      },
    )
    await t.step('each call finds its environment as it was given', async () => {
      const text = `export function change() {
  const { list, note } = this.env
  const found = [list.length, typeof note, this.env.more, globalThis.fetch === changed]
  list.push(1)
  this.env.more = 1
  this.env.note = null
  globalThis.fetch = changed
  return found
}
function changed() {}`
      const env = { list: [1, 2], note: () => 1 }
      const kept = sandbox.get('environment', code(text, { env }), { ephemeral: false })
      for (let call = 0; call < 3; call++) {
        assertEquals(await kept.call('change'), [2, 'function', undefined, false])
      }
    })
    await t.step('crashes among many calls: each other call is made once, in its order', async () => {
      const noted: number[] = []
      const actor = sandbox.get(
        'actor',
        code(
          `export async function work(n, how) {
  await this.env.note(n)
  if (how === 'exit') Deno.exit(3)
  if (how === 'throw') throw new RangeError('no ' + n)
  if (how === 'spin') for (;;);
  return n
}`,
          { env: { note: (n: number) => void noted.push(n) }, limits: { timeoutMs: 2000 } },
        ),
        { ephemeral: false },
      )
      const numbers = Array.from({ length: 60 }, (_, n) => n)
      const howOf = (n: number) => n === 30 ? 'spin' : n % 10 === 5 ? 'exit' : n % 10 === 8 ? 'throw' : ''
      const calls = await Promise.allSettled(numbers.map((n) => actor.call('work', n, howOf(n))))
      assertEquals(
        calls.map((call) => call.status === 'fulfilled' ? call.value : call.reason.name),
        numbers.map((n) =>
          ({ spin: 'TimeoutError', exit: 'CrashError', throw: 'RangeError', '': n })[howOf(n)]
        ),
      )
      assertEquals(noted, numbers)
    })
    await t.step('its queue is bounded', async () => {
      await using small = await Sandbox.open({ vms: 1, queue: 3 })
      const kept = small.get('k', code('export const wait = () => new Promise((go) => setTimeout(go, 20))'), {
        ephemeral: false,
      })
      const calls = await Promise.allSettled(Array.from({ length: 6 }, () => kept.call('wait')))
      assertEquals(calls.filter(({ status }) => status === 'rejected').length, 3)
    })
  },
})
