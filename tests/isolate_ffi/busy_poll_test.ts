import { assertEquals } from '@std/assert'
import {
  type BusyPoll,
  createBusyPoll,
  noteAnswer,
  noteLate,
  shouldBusyPoll,
} from '../../src/isolate/ffi/busy_poll.ts'

/** One sole request that takes so many microseconds. */
function sole(state: BusyPoll, microseconds = 40): boolean {
  const polled = shouldBusyPoll(state, true)
  noteAnswer(state, microseconds)
  return polled
}

function soleTimes(state: BusyPoll, times: number, microseconds?: number): number {
  return Array.from({ length: times }, () => sole(state, microseconds)).filter(Boolean).length
}

Deno.test('shouldBusyPoll begins after a streak of sole requests and probes now and then', () => {
  const state = createBusyPoll(1000)
  assertEquals(soleTimes(state, 9), 0)
  assertEquals(soleTimes(state, 160), 150)
})

Deno.test('shouldBusyPoll stops as soon as a second request is under way', () => {
  const state = createBusyPoll(1000)
  soleTimes(state, 40)
  while (sole(state));
  assertEquals(shouldBusyPoll(state, false), false)
  assertEquals(soleTimes(state, 9), 0)
  assertEquals(sole(state), true)
})

Deno.test('shouldBusyPoll never does in periods of two', () => {
  const state = createBusyPoll(1000)
  let polled = 0
  for (let i = 0; i < 1000; i++) {
    if (shouldBusyPoll(state, true)) polled++
    if (shouldBusyPoll(state, false)) polled++
    noteAnswer(state, 40)
    noteAnswer(state, 40)
  }
  assertEquals(polled, 0)
})

Deno.test('shouldBusyPoll leaves long and late requests to the event loop', () => {
  const long = createBusyPoll(1000)
  soleTimes(long, 20)
  soleTimes(long, 50, 5000)
  assertEquals(soleTimes(long, 50, 5000), 0)
  const late = createBusyPoll(1000)
  soleTimes(late, 40)
  noteLate(late)
  assertEquals(soleTimes(late, 8), 0)
})

Deno.test('shouldBusyPoll never does with a limit of 0', () => {
  assertEquals(soleTimes(createBusyPoll(0), 100, 0), 0)
})
