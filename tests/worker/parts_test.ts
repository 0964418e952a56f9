import { assert, assertEquals, assertThrows } from '@std/assert'
import { defineWorker } from '../../src/worker/define_worker.ts'
import { flatCopy, NOT_FLAT } from '../../src/worker/flat_copy.ts'
import { fromWire, toWire } from '../../src/worker/failure.ts'
import { HttpError } from '../../src/errors/http_error.ts'

Deno.test('flatCopy copies what is flat and equals a structured clone', () => {
  for (
    const value of [1, 'a', true, null, undefined, 10n, NaN, {}, { a: 1, b: 'c', d: null, e: undefined }]
  ) {
    const copy = flatCopy(value)
    assertEquals(copy, structuredClone(value))
    assert(typeof value !== 'object' || value === null || copy !== value)
  }
})

Deno.test('flatCopy leaves everything else alone', () => {
  const own = JSON.parse('{"__proto__": 1}')
  for (
    const value of [[], [1], { a: [] }, { a: {} }, new Date(), () => {}, Symbol(), Object.create(null), own, {
      f() {},
    }, new Error()]
  ) {
    assert(flatCopy(value) === NOT_FLAT)
  }
})

Deno.test('errors keep class, name and message over the wire', () => {
  const range = fromWire(toWire(new RangeError('far')))
  assert(range instanceof RangeError)
  assertEquals([range.name, range.message], ['RangeError', 'far'])
  const http = fromWire(toWire(new HttpError(409, 'taken')))
  assert(http instanceof HttpError)
  assertEquals([http.status, http.message], [409, 'taken'])
  const odd = fromWire(['HttpError', 'not a status', '', 7])
  assertEquals([odd.constructor, odd.name], [Error, 'HttpError'])
  assertEquals(fromWire(toWire('text')).message, 'text')
})

Deno.test('defineWorker gives the handler back outside a pool, and refuses what is no function', async () => {
  const handler = defineWorker(async (n: number) => await Promise.resolve(n + 1))
  assertEquals(await handler(1, { transfer() {} }), 2)
  assertThrows(() => defineWorker(42 as never), TypeError, 'want a function')
})
