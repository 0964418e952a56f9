import { assert, assertEquals } from '@std/assert'
import { clearDeadline, createDeadlines, expireAll, setDeadline } from '../../src/app/deadlines.ts'

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

Deno.test('a deadline expires once, not early, and leaves no timer', async () => {
  const queue = createDeadlines(40)
  const start = performance.now()
  const elapsed = await new Promise<number>((resolve) =>
    setDeadline(queue, () => resolve(performance.now() - start))
  )
  assert(elapsed >= 39, `expired after ${elapsed} ms`)
  assertEquals(queue.timer, undefined)
  assertEquals(queue.head, null)
})

Deno.test('a cleared deadline never expires, wherever it stands in the queue', async () => {
  const queue = createDeadlines(16)
  const expired: number[] = []
  const entries = [0, 1, 2, 3, 4].map((id) => setDeadline(queue, () => expired.push(id)))
  for (const id of [2, 0, 4]) clearDeadline(queue, entries[id])
  clearDeadline(queue, entries[2])
  while (queue.tail !== null) await sleep(5)
  assertEquals(expired, [1, 3])
  assertEquals(queue.timer, undefined)
})

Deno.test('a request that ends within its turn sets no timer', async () => {
  const queue = createDeadlines(1000)
  clearDeadline(queue, setDeadline(queue, () => {}))
  await sleep(0)
  assertEquals([queue.timer, queue.arming], [undefined, false])
})

Deno.test('the timer stops with the last pending request', async () => {
  const queue = createDeadlines(1000)
  const first = setDeadline(queue, () => {})
  const second = setDeadline(queue, () => {})
  await sleep(0)
  clearDeadline(queue, first)
  assert(queue.timer !== undefined)
  clearDeadline(queue, second)
  assertEquals(queue.timer, undefined)
})

Deno.test('expireAll ends everything at once, in order, also without a timeout', () => {
  const queue = createDeadlines(0)
  const expired: number[] = []
  for (const id of [1, 2, 3]) setDeadline(queue, () => expired.push(id))
  assertEquals(queue.timer, undefined)
  expireAll(queue)
  assertEquals(expired, [1, 2, 3])
  assertEquals(queue.head, null)
})

Deno.test('a deadline set while another expires is kept', async () => {
  const queue = createDeadlines(8)
  const second = await new Promise<string>((resolve) =>
    setDeadline(queue, () => {
      setDeadline(queue, () => resolve('second'))
    })
  )
  assertEquals(second, 'second')
  assertEquals(queue.timer, undefined)
})
