/** Pools and programs that isolates of one process share: two of a test's stand for them. */
import { assert, assertEquals, assertThrows } from '@std/assert'
import type { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import { ClosedError } from '../../src/isolate/machines/errors.ts'
import { NativePool } from '../../src/isolate/ffi/native_pool.ts'
import { NativeProgram } from '../../src/isolate/ffi/native_program.ts'
import { takePoolKey } from '../../src/isolate/ffi/share_key.ts'
import { ask, compileGuest, guestSpec, NO_MACHINE, openLibrary, testWith, told } from './fixture.ts'

const SLOW = { timeoutMs: 20_000 }

/** Two members of one pool, and the guest that both booted by one key. */
async function withTwo(
  run: (
    pools: readonly [NativePool, NativePool],
    programs: readonly [NativeProgram, NativeProgram],
  ) => Promise<
    void
  >,
): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    using library = await openLibrary()
    const guest = await compileGuest(folder)
    const key = crypto.randomUUID()
    const open = (library: NativeLibrary) => new NativePool(library, { workers: 2, queue: 400, key })
    const boot = () => NativeProgram.boot(library, guestSpec(guest), undefined, key)
    const programs = await Promise.all([boot(), boot()])
    await run([open(library), open(library)], [programs[0], programs[1]])
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

testWith(
  NO_MACHINE,
  'each member of a pool hears of its own requests, and of all of them',
  () =>
    withTwo(async ([a, b], [one, two]) => {
      assertEquals([a.members, b.members], [2, 2])
      assertEquals(a.secret(), b.secret())
      const bodies = Array.from({ length: 200 }, (_, i) => 'x'.repeat(i))
      const wanted = bodies.map((body) => `echo hello ${21 + body.length}`)
      const askAll = (pool: NativePool, program: NativeProgram) =>
        Promise.all(bodies.map((body) => pool.submit(program, ask('hello', body), SLOW)))
      const both = await Promise.all([askAll(a, one), askAll(b, two)])
      assertEquals(both.map((done) => done.map(told)), [wanted, wanted])
      // One after the other: the thread itself looks for the answer.
      for (let i = 0; i < 20; i++) {
        assertEquals(told(await a.submit(one, ask('hello', 'a'), SLOW)), 'echo hello 22')
        assertEquals(told(await b.submit(two, ask('hello', 'ab'), SLOW)), 'echo hello 23')
      }
      for (const done of both.flat()) await done.reset.over()
      assertEquals(both.flat().every(({ reset }) => reset.state === 'clean' && reset.us > 0), true)
      const { outcomes, held, forks } = a.statistics()
      assertEquals([outcomes.answered, held], [440, 0])
      // Of one program, however many hold it.
      assertEquals(forks <= 2, true, `${forks} machines`)
      await a.retire(one)
      await b.retire(two)
      await Promise.all([a.close(), b.close()])
    }),
)

testWith(
  NO_MACHINE,
  'a member that closes leaves the others what they have',
  () =>
    withTwo(async ([a, b], [one, two]) => {
      assertEquals(one.handle, two.handle)
      const waiting = [1, 2, 3].map(() => a.submit(one, ask('count'), SLOW))
      const retiring = a.retire(one)
      const closing = a.close()
      assertThrows(() => a.submit(two, ask('count'), SLOW), ClosedError, 'pool')
      assertEquals((await Promise.all(waiting)).map(told), ['1', '1', '1'])
      await retiring
      await closing
      assertEquals(told(await b.submit(two, ask('count'), SLOW)), '1')
      assertEquals(b.members, 1)
      // Their machines stayed: there are no more than workers.
      assert(b.statistics().forks <= 2, `${b.statistics().forks} machines`)
      await b.retire(two)
      await b.close()
    }),
)

testWith(
  NO_MACHINE,
  'a member that is freed with requests under way costs the others nothing',
  () =>
    withTwo(async ([a, b], [one, two]) => {
      const spins = [1, 2].map(() => a.submit(one, ask('spin'), { timeoutMs: 200 }))
      const closing = a.close()
      assertEquals(told(await b.submit(two, ask('hello', ''), SLOW)), 'echo hello 21')
      assertEquals((await Promise.all(spins)).map(told), ['(timeout)', '(timeout)'])
      await closing
      const again = await Promise.all([1, 2, 3].map(() => b.submit(two, ask('hello', ''), SLOW)))
      assertEquals(again.map(told), Array(3).fill('echo hello 21'))
      await one.close()
      await b.retire(two)
      await b.close()
    }),
)

Deno.test('the pools of an isolate have names of their own, which are free once they are closed', () => {
  const [a, b, other] = [takePoolKey(3, 77)!, takePoolKey(3, 77)!, takePoolKey(3, 78)!]
  assertEquals(new Set([a.text, b.text, other.text]).size, 3)
  assert(a.text.includes(Deno.mainModule))
  a.release()
  const next = takePoolKey(3, 77)!
  assertEquals(next.text, a.text)
  for (const key of [b, other, next]) key.release()
})
