/** Requests from Deno through the library to a C program in a machine, and back. */
import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { NativeError } from '../../src/isolate/ffi/errors.ts'
import { BootError, ClosedError, QueueFullError } from '../../src/isolate/machines/errors.ts'
import type { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import { NativePool, type PoolOptions } from '../../src/isolate/ffi/native_pool.ts'
import { NativeProgram } from '../../src/isolate/ffi/native_program.ts'
import { ask, bodyOf, compileGuest, guestSpec, NO_MACHINE, openLibrary, testWith, told } from './fixture.ts'

interface Bench {
  readonly library: NativeLibrary
  readonly guest: string
}

/** A library and a guest for one test, given back at its end. */
async function withGuest(run: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    using library = await openLibrary()
    await run({ library, guest: await compileGuest(folder) })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** As {@link withGuest}, with a pool and the guest booted. */
function withPool(
  sizes: PoolOptions,
  run: (pool: NativePool, program: NativeProgram) => Promise<void>,
): Promise<void> {
  return withGuest(async ({ library, guest }) => {
    await using pool = new NativePool(library, sizes)
    await using program = await NativeProgram.boot(library, guestSpec(guest))
    await run(pool, program)
  })
}

const SLOW = { timeoutMs: 20_000 }
/** The worker of a request that ran on this thread. */

testWith(NO_MACHINE, 'NativeLibrary.doctor finds a flavour where machines run', async () => {
  using library = await openLibrary()
  const report = await library.doctor()
  assert(report.available, JSON.stringify(report))
  assert(['hardware', 'pvm'].includes(report.flavour) && ['cr3', 'notifier'].includes(report.flush))
  assert(report.xsaveBytes >= 576)
})

testWith(
  NO_MACHINE,
  'NativeProgram.boot ends before its next warm-up request once it is called off, and leaves no program',
  () =>
    withGuest(async ({ library, guest }) => {
      const off = new AbortController()
      // Ten seconds and more, were it to run.
      const spec = guestSpec(guest, { warmup: [{ frame: ask('warm'), runs: 1_000_000 }] })
      const boot = NativeProgram.boot(library, spec, off.signal)
      off.abort()
      await assertRejects(() => boot, ClosedError)
      await assertRejects(() => NativeProgram.boot(library, spec, off.signal), ClosedError)
    }),
)

testWith(
  NO_MACHINE,
  'NativeProgram.time runs a request in a fork of its own, again and again',
  () =>
    withGuest(async ({ library, guest }) => {
      await using program = await NativeProgram.boot(library, guestSpec(guest))
      const times = program.time(ask('count'), 20)
      assert(times.length > 0 && times.every((us) => us > 0), String(times))
      assertThrows(() => program.time(ask('exit'), 20), NativeError, 'ended a timed request')
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit gives the answer, its times and a reset machine',
  () =>
    withPool({ workers: 2, queue: 16 }, async (pool, program) => {
      assertEquals(program.report.warmupRequests, 3)
      assert(program.report.bootUs > 0 && program.report.memoryBytes > 0)
      pool.prepare(program)
      for (let round = 0; round < 5; round++) {
        const done = await pool.submit(program, ask('count'), SLOW)
        assertEquals([done.outcome, bodyOf(done.frame), done.message], ['answered', '1', ''])
        await done.reset.over()
        const { state, us, dirtyPages } = done.reset
        assert(done.runUs > 0 && state === 'clean' && us > 0 && done.queueUs >= 0)
        assert(done.exits >= 1 && dirtyPages >= 1 && done.worker < 2, JSON.stringify(done))
      }
      const log = await pool.submit(program, ask('log'), SLOW)
      assertEquals([told(log), new TextDecoder().decode(log.log)], ['logged', 'a line\n'])
      const big = await pool.submit(program, ask('big'), SLOW)
      assertEquals(told(big), 'b'.repeat(600_000))
      const { outcomes, forks, held, refused } = pool.statistics()
      assertEquals([outcomes, held, refused], [{ answered: 7 }, 0, 0])
      assertEquals(forks, 2)
      // Later than an hour from now, and now.
      pool.dropIdle(3_600_000)
      await pool.submit(program, ask('count'), SLOW)
      assertEquals(pool.statistics().forks, 2)
      pool.dropIdle(0)
      assertEquals(told(await pool.submit(program, ask('count'), SLOW)), '1')
      assertEquals(pool.statistics().forks, 3)
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit tells every bad end, and the next request is clean',
  () =>
    withPool({ workers: 1, queue: 16 }, async (pool, program) => {
      const cases = [
        ['spin', 'timeout', 0],
        ['exit', 'exited', 7],
        ['segv', 'killed', 11],
        ['abort', 'killed', 6],
        ['memory', 'memory', 0],
        ['stuck', 'stuck', 0],
        ['garbage', 'misbehaved', 0],
      ] as const
      for (const [what, outcome, detail] of cases) {
        const options = { timeoutMs: what === 'spin' ? 50 : 20_000 }
        const done = await pool.submit(program, ask(what), options)
        assertEquals([done.outcome, done.detail, done.frame.length], [outcome, detail, 0], what)
        assertEquals(done.message !== '', outcome === 'misbehaved', done.message)
        assertEquals(told(await pool.submit(program, ask('count'), SLOW)), '1', `after ${what}`)
      }
      const { outcomes, lost } = pool.statistics()
      assertEquals([outcomes.answered, outcomes.killed, lost], [7, 2, 0])
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit waits for short sole requests on this thread, and each is answered and reset',
  () =>
    // So long that no wait is in vain but that for the endless loop.
    withPool({ workers: 1, queue: 16, busyPollUs: 60_000_000 }, async (pool, program) => {
      const seen = { here: 0, later: 0 }
      const run = async (what: string) => {
        const answer = pool.submit(program, ask(what), SLOW)
        seen[pool.outstanding === 0 ? 'here' : 'later']++
        return await answer
      }
      for (let i = 0; i < 60; i++) assertEquals(told(await run('count')), '1')
      // At least the first ones and every 16th period wait elsewhere; more where somebody else wants the CPU.
      assertEquals(seen.here + seen.later, 60)
      assert(seen.here > 0 && seen.later >= 12, JSON.stringify(seen))
      for (const [what, outcome, detail] of [['exit', 'exited', 7], ['segv', 'killed', 11]] as const) {
        const done = await run(what)
        assertEquals([done.outcome, done.detail], [outcome, detail], what)
        assertEquals(told(await run('count')), '1', `after ${what}`)
      }
      assertEquals(new TextDecoder().decode((await run('log')).log), 'a line\n')
      assertEquals(told(await run('big')), 'b'.repeat(600_000))
      const clean = told(await run('look'))
      assertEquals(told(await run('dirty')), 'dirtied')
      assertEquals(told(await run('look')), clean)
      const { outcomes, held } = pool.statistics()
      assertEquals([outcomes, held], [{ answered: 67, exited: 1, killed: 1 }, 0])
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit gives a wait on this thread up when its time is over',
  () =>
    withPool({ workers: 1, queue: 16, busyPollUs: 20_000 }, async (pool, program) => {
      for (let i = 0; i < 30; i++) assertEquals(told(await pool.submit(program, ask('count'), SLOW)), '1')
      const spin = pool.submit(program, ask('spin'), { timeoutMs: 500 })
      assertEquals(pool.outstanding, 1)
      const other = pool.submit(program, ask('count'), SLOW)
      assertEquals([(await spin).outcome, told(await other)], ['timeout', '1'])
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit keeps the state when it is asked to',
  () =>
    withPool({ workers: 1, queue: 16 }, async (pool, program) => {
      const answers: string[] = []
      for (let i = 0; i < 3; i++) {
        answers.push(told(await pool.submit(program, ask('count'), { ...SLOW, keep: true })))
      }
      assertEquals(answers, ['1', '2', '3'])
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit refuses what does not fit the queue, and goes on',
  () =>
    withPool({ workers: 1, queue: 2 }, async (pool, program) => {
      const taken: unknown[] = []
      let refused = 0
      for (let i = 0; i < 10; i++) {
        try {
          taken.push(pool.submit(program, ask('spin'), { timeoutMs: 300 }))
        } catch (error) {
          assertInstanceOf(error, QueueFullError)
          refused++
        }
      }
      assert(refused === 7 || refused === 8, String(refused))
      assertEquals(pool.outstanding, taken.length)
      await Promise.all(taken)
      assertEquals(pool.statistics().refused, refused)
      assertEquals(told(await pool.submit(program, ask('count'), SLOW)), '1')
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.submit refuses what is no request',
  () =>
    withPool({ workers: 1, queue: 2 }, async (pool, program) => {
      for (const timeoutMs of [0, -1, NaN, Infinity, 5_000_000]) {
        assertThrows(() => pool.submit(program, ask('count'), { timeoutMs }), RangeError, 'timeout of')
      }
      const whole = ask('count', 'body')
      for (const bytes of [whole.slice(0, 3), whole.slice(0, 18), new Uint8Array(0), new Uint8Array(16)]) {
        const error = assertThrows(() => pool.submit(program, bytes, SLOW), NativeError, 'frame')
        assertEquals(error.status, 'bad-argument')
      }
      assertEquals(pool.outstanding, 0)
      assertEquals(told(await pool.submit(program, whole, SLOW)), '1')
    }),
)

testWith(
  NO_MACHINE,
  'NativePool answers each of many requests with its own body',
  () =>
    withPool({ workers: 2, queue: 400 }, async (pool, program) => {
      const bodies = Array.from({ length: 300 }, (_, i) => 'x'.repeat(i))
      const done = await Promise.all(bodies.map((body) => pool.submit(program, ask('hello', body), SLOW)))
      assertEquals(done.map(told), bodies.map((body) => `echo hello ${21 + body.length}`))
      assertEquals(new Set(done.map(({ worker }) => worker)).size <= 2, true)
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.close lets requests end and refuses new ones',
  () =>
    withGuest(async ({ library, guest }) => {
      const pool = new NativePool(library, { workers: 1, queue: 8 })
      const program = await NativeProgram.boot(library, guestSpec(guest))
      const waiting = [1, 2, 3].map(() => pool.submit(program, ask('count'), SLOW))
      const closing = pool.close()
      assertThrows(() => pool.submit(program, ask('count'), SLOW), ClosedError, 'pool')
      assertThrows(() => pool.statistics(), ClosedError)
      assertEquals((await Promise.all(waiting)).map(told), ['1', '1', '1'])
      await closing
      await pool.close()
      await program.close()
      await program.close()
      assertThrows(() => program.handle, ClosedError, 'program')
    }),
)

testWith(
  NO_MACHINE,
  'NativePool.retire waits for the requests of a program, and another goes on',
  () =>
    withPool({ workers: 1, queue: 8 }, async (pool, program) => {
      await withGuest(async ({ library, guest }) => {
        const next = await NativeProgram.boot(library, guestSpec(guest))
        const last = pool.submit(program, ask('spin'), { timeoutMs: 50 })
        let retired = false
        const retiring = pool.retire(program).then(() => retired = true)
        assertThrows(() => pool.submit(program, ask('count'), SLOW), ClosedError, 'program')
        assertEquals(told(await last), '(timeout)')
        assertEquals(told(await pool.submit(next, ask('count'), SLOW)), '1')
        await retiring
        assertEquals(retired, true)
        await pool.retire(next)
      })
    }),
)

testWith(
  NO_MACHINE,
  'NativeProgram.boot runs the warm-up in its order and keeps answers',
  () =>
    withGuest(async ({ library, guest }) => {
      await using program = await NativeProgram.boot(
        library,
        guestSpec(guest, {
          warmup: [
            { frame: ask('count'), runs: 2, tell: true },
            { frame: ask('hello'), runs: 1, tell: true },
            { frame: ask('count'), runs: 3, group: 1, tell: true },
            { frame: ask('count'), runs: 1, group: 1 },
          ],
        }),
      )
      assertEquals(program.report.warmupRequests, 7)
      assertEquals([0, 1, 2].map((index) => bodyOf(program.answer(index))), ['2', 'echo hello 21', '6'])
      assertEquals(program.answer(3).length, 0)
      assertThrows(() => program.answer(4), NativeError, 'want one below 4')
    }),
)

testWith(
  NO_MACHINE,
  'NativeProgram.boot goes on with a group of the warm-up until its gauge is still',
  () =>
    withGuest(async ({ library, guest }) => {
      const requests = async (gauge: string) => {
        const warmup = [
          { frame: ask('count'), runs: 2, tell: true },
          { frame: ask(gauge), runs: 0, gauge: true },
          { frame: ask('look'), runs: 1, group: 1 },
        ]
        await using program = await NativeProgram.boot(library, guestSpec(guest, { warmup }))
        return program.report.warmupRequests
      }
      // Two runs, the gauge, eight rounds of both in which it answers the same, and the next group.
      assertEquals(await requests('log'), 2 + 1 + 8 * 2 + 1)
      // One that never does ends after 500 rounds.
      assertEquals(await requests('count'), 2 + 1 + 500 * 2 + 1)
    }),
)

testWith(
  NO_MACHINE,
  'NativeProgram.boot says why a program does not wait for requests',
  () =>
    withGuest(async ({ library, guest }) => {
      const missing = guestSpec(guest, { path: '/missing' })
      await assertRejects(() => NativeProgram.boot(library, missing), BootError, 'missing')
      const ends = guestSpec(guest, { warmup: [{ frame: ask('exit'), runs: 1 }] })
      await assertRejects(() => NativeProgram.boot(library, ends), BootError, 'Exit(7)')
      const hangs = guestSpec(guest, {
        warmup: [{ frame: ask('spin'), runs: 1 }],
        limits: { ...ends.limits, bootMs: 100 },
      })
      await assertRejects(() => NativeProgram.boot(library, hangs), BootError, 'too long')
      const noFile = guestSpec(join(guest, 'none'))
      await assertRejects(() => NativeProgram.boot(library, noFile), BootError, 'mount')
      await assertRejects(
        () => NativeProgram.boot(library, guestSpec(guest, { folder: 'here' })),
        NativeError,
        '"here", want an absolute one',
      )
    }),
)

testWith(
  NO_MACHINE,
  'NativePool leaves memory and descriptors as they were over 10 000 requests',
  () =>
    withPool({ workers: 2, queue: 100 }, async (pool, program) => {
      const kinds = ['count', 'count', 'hello', 'count', 'exit']
      const run = async (count: number) => {
        let wrong = 0
        const client = async (first: number) => {
          for (let i = first; i < count; i += 50) {
            const done = await pool.submit(program, ask(kinds[i % kinds.length], 'body'), SLOW)
            const wanted = ['1', '1', 'echo hello 25', '1', '(exited)'][i % kinds.length]
            if (told(done) !== wanted) wrong++
          }
        }
        await Promise.all(Array.from({ length: 50 }, (_, first) => client(first)))
        return wrong
      }
      assertEquals(await run(3000), 0)
      const before = usage()
      assertEquals(await run(10_000), 0)
      const after = usage()
      assertEquals(after.descriptors, before.descriptors)
      // A leak of a request's own 1 to 4 KiB would show as 10 to 40 MiB; the collector's mood stays below.
      const grown = after.rss - before.rss
      assert(grown < 12 << 20, `${grown} bytes more after 10 000 requests, want less than 12 MiB`)
      assertEquals(pool.statistics().held, 0)
    }),
)

function usage(): { rss: number; descriptors: number } {
  return { rss: Deno.memoryUsage().rss, descriptors: [...Deno.readDirSync('/proc/self/fd')].length }
}
