/** Resets that end after their answers: each is told once, whichever is taken in first. */
import { assertEquals, assertInstanceOf } from '@std/assert'
import { NativeError } from '../../src/isolate/ffi/errors.ts'
import type { MachinesError } from '../../src/isolate/machines/errors.ts'
import { MACHINES, RESET, RESET_BYTES } from '../../src/isolate/ffi/layout.ts'
import { MachineReset, type MachineState } from '../../src/isolate/machines/machine_reset.ts'
import { until } from '../until.ts'
import { PendingResets } from '../../src/isolate/ffi/pending_resets.ts'

type Ended = readonly [ticket: number, state: MachineState, us: number, dirtyPages: number]

/** Resets over a list of those that ended, in place of the library. */
function createResets(): {
  resets: PendingResets
  ended: Ended[]
  broken: MachinesError[]
  calls: () => number
} {
  const ended: Ended[] = []
  const broken: MachinesError[] = []
  let calls = 0
  const fetch = (records: DataView<ArrayBuffer>, most: number) => {
    calls++
    const batch = ended.splice(0, most)
    for (const [index, [ticket, state, us, dirtyPages]] of batch.entries()) {
      const at = index * RESET_BYTES
      records.setFloat64(at + RESET.reset_us[0], us, true)
      records.setInt32(at + RESET.ticket[0], ticket, true)
      records.setUint32(at + RESET.dirty_pages[0], dirtyPages, true)
      records.setUint32(at + RESET.machine[0], MACHINES.indexOf(state), true)
    }
    return batch.length
  }
  return {
    resets: new PendingResets(fetch, (error) => void broken.push(error)),
    ended,
    broken,
    calls: () => calls,
  }
}

function figures({ state, us, dirtyPages }: MachineReset): unknown[] {
  return [state, us, dirtyPages]
}

Deno.test('MachineReset.whenOver calls each listener once, at once after the end', async () => {
  const told: string[] = []
  const reset = new MachineReset('resetting', 0, 0)
  reset.whenOver(() => told.push('first'))
  reset.whenOver(() => told.push('second'))
  const over = reset.over()
  assertEquals(told, [])
  reset.end('clean', 1.5, 40)
  assertEquals([told, figures(reset)], [['first', 'second'], ['clean', 1.5, 40]])
  reset.whenOver(() => told.push('third'))
  await over
  assertEquals(told, ['first', 'second', 'third'])
})

Deno.test('PendingResets ends what a timer finds, and polls again while something goes on', async () => {
  const { resets, ended, calls } = createResets()
  const over = resets.take(1, 'clean', 3, 4)
  assertEquals([figures(over), resets.size], [['clean', 3, 4], 0])
  const [first, second] = [resets.take(2, 'resetting', 0, 0), resets.take(3, 'resetting', 0, 0)]
  assertEquals([calls(), resets.size], [0, 2])
  ended.push([3, 'clean', 12.5, 51])
  await second.over()
  assertEquals([figures(first), figures(second)], [['resetting', 0, 0], ['clean', 12.5, 51]])
  ended.push([2, 'lost', 7, 0])
  await first.over()
  // Deno counts a timer that goes on as a leak of this test.
  assertEquals([figures(first), resets.size], [['lost', 7, 0], 0])
})

Deno.test('PendingResets knows a reset that ended before its answer was taken in', async () => {
  const { resets, ended } = createResets()
  const other = resets.take(1, 'resetting', 0, 0)
  ended.push([65_537, 'clean', 2, 9], [1, 'clean', 1, 8])
  await other.over()
  assertEquals(figures(resets.take(65_537, 'resetting', 0, 0)), ['clean', 2, 9])
  assertEquals(resets.size, 0)
})

Deno.test('PendingResets ends what ended before an answer whose machine is clean', async () => {
  const { resets, ended } = createResets()
  const told: number[] = []
  const [first, other] = [resets.take(1, 'resetting', 0, 0), resets.take(2, 'resetting', 0, 0)]
  first.whenOver(() => told.push(1))
  ended.push([1, 'clean', 1, 1])
  resets.take(3, 'clean', 2, 2).whenOver(() => told.push(3))
  assertEquals([told, resets.size], [[1, 3], 1])
  ended.push([2, 'clean', 1, 1])
  await other.over()
})

Deno.test('PendingResets polls at once when many go on, and takes more than one batch', () => {
  const { resets, ended } = createResets()
  for (let ticket = 0; ticket < 255; ticket++) {
    resets.take(ticket, 'resetting', 0, 0)
    ended.push([ticket, 'clean', 1, 1])
  }
  assertEquals(resets.size, 255)
  resets.take(255, 'resetting', 0, 0)
  assertEquals([resets.size, ended.length], [1, 0])
  resets.giveUp()
})

Deno.test('PendingResets.giveUp ends all as lost, and what cannot be is told', async () => {
  const { resets, ended, broken } = createResets()
  const reset = resets.take(1, 'resetting', 0, 0)
  ended.push([1, 'resetting', 0, 0])
  await until('the broken pool', () => broken.length > 0)
  assertInstanceOf(broken[0], NativeError)
  resets.giveUp()
  assertEquals([broken.length, figures(reset), resets.size], [1, ['lost', 0, 0], 0])
})
