import { assert, assertEquals } from '@std/assert'
import { HELD_MAX, PAUSE_MS, Refusals } from '../../src/tenants/refusals.ts'

/** Names of the waits that have ended. */
function watch(refusals: Refusals) {
  const ended: number[] = []
  return { ended, wait: (name: number) => void refusals.wait().then(() => ended.push(name)) }
}

const turn = () => new Promise((done) => setTimeout(done, 0))

Deno.test('a refusal waits for a moment, and ends by itself', async () => {
  const began = performance.now()
  await new Refusals().wait()
  // Timers count whole milliseconds.
  assert(performance.now() - began >= PAUSE_MS[0] - 1)
})

Deno.test('a refusal beyond those that may wait goes at once', async () => {
  const refusals = new Refusals()
  const { ended, wait } = watch(refusals)
  for (let name = 0; name <= HELD_MAX; name++) wait(name)
  await Promise.resolve()
  assertEquals(ended, [HELD_MAX])
  refusals.release()
  await turn()
  assertEquals(ended.length, HELD_MAX + 1)
})

Deno.test('release answers all that wait, and the next refusal waits anew', async () => {
  const refusals = new Refusals()
  const { ended, wait } = watch(refusals)
  wait(0)
  wait(1)
  refusals.release()
  await turn()
  assertEquals(ended, [0, 1])
  wait(2)
  await Promise.resolve()
  assertEquals(ended, [0, 1])
  refusals.release()
})
