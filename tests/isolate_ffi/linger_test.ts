import { assertEquals } from '@std/assert'
import {
  createLinger,
  type Linger,
  noteAnswer,
  noteLate,
  shouldLinger,
} from '../../src/isolate/ffi/linger.ts'

/** One lonely request that takes so many microseconds. */
function lonely(state: Linger, microseconds = 40): boolean {
  const lingered = shouldLinger(state, true)
  noteAnswer(state, microseconds)
  return lingered
}

function lonelyTimes(state: Linger, times: number, microseconds?: number): number {
  return Array.from({ length: times }, () => lonely(state, microseconds)).filter(Boolean).length
}

Deno.test('shouldLinger begins after a streak of lonely requests and probes now and then', () => {
  const state = createLinger(1000)
  assertEquals(lonelyTimes(state, 9), 0)
  assertEquals(lonelyTimes(state, 160), 150)
})

Deno.test('shouldLinger stops as soon as a second request is under way', () => {
  const state = createLinger(1000)
  lonelyTimes(state, 40)
  while (lonely(state));
  assertEquals(shouldLinger(state, false), false)
  assertEquals(lonelyTimes(state, 9), 0)
  assertEquals(lonely(state), true)
})

Deno.test('shouldLinger never does in periods of two', () => {
  const state = createLinger(1000)
  let lingered = 0
  for (let i = 0; i < 1000; i++) {
    if (shouldLinger(state, true)) lingered++
    if (shouldLinger(state, false)) lingered++
    noteAnswer(state, 40)
    noteAnswer(state, 40)
  }
  assertEquals(lingered, 0)
})

Deno.test('shouldLinger leaves long and late requests to the event loop', () => {
  const long = createLinger(1000)
  lonelyTimes(long, 20)
  lonelyTimes(long, 50, 5000)
  assertEquals(lonelyTimes(long, 50, 5000), 0)
  const late = createLinger(1000)
  lonelyTimes(late, 40)
  noteLate(late)
  assertEquals(lonelyTimes(late, 8), 0)
})

Deno.test('shouldLinger never does with a limit of 0', () => {
  assertEquals(lonelyTimes(createLinger(0), 100, 0), 0)
})
