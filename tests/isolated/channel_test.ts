/** Requests that talk with the host while they are under way, in real machines: parked while they wait, and every way to end. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { delay } from '@std/async'
import { QueueFullError } from '../../src/isolate/machines/errors.ts'
import { resolveParked } from '../../src/isolate/machines/machines.ts'
import { openTalkers, replying } from './channel/fixture.ts'
import { type Runtime, RUNTIMES, testIn } from './fixture.ts'

for (const runtime of RUNTIMES) suite(runtime)

function suite(runtime: Runtime): void {
  const test = testIn(runtime)

  test('a request says something, is parked, hears the answer and answers', async () => {
    const talkers = await openTalkers(runtime)
    try {
      for (let round = 0; round < 3; round++) {
        const channel = replying((text) => delay(5).then(() => `heard ${text}`))
        const { answer, completion } = await talkers.ask('one', channel)
        assertEquals(answer, '"heard one" 0')
        assertEquals([channel.heard, channel.ends], [['one'], 1])
        assertEquals([completion.said, completion.heard], [1, 1])
        // A busy host answers before the program has come to wait.
        assert(completion.parks <= 1 && (completion.parkedUs > 0) === (completion.parks > 0))
      }
      const { answer, completion } = await talkers.ask('hello')
      assertEquals([answer, completion.parks], ['hello', 0])
      const row = await talkers.ask('row=5', replying((text) => text))
      assertEquals(row.answer, [0, 1, 2, 3, 4].map((n) => `"call ${n}" 0`))
      assertEquals([row.completion.said, row.completion.heard], [5, 5])
      const many = await talkers.ask('many=100', replying((text) => text))
      assertEquals((many.answer as string[]).length, 100)
      assertEquals(
        (await talkers.ask('large=1048576', replying((_, { body }) => `${body.length}`))).answer,
        '"1048576" 0',
      )
    } finally {
      await talkers.close()
    }
  })

  test('a request that nobody answers ends: by its time, by its signal, by what its channel throws', async () => {
    const talkers = await openTalkers(runtime)
    try {
      const deaf = replying(() => null)
      const late = await talkers.ask('never', deaf, { timeoutMs: 50 })
      assertEquals([late.answer, late.completion.heard, deaf.ends], ['(timeout)', 0, 1])
      const off = new AbortController()
      const gone = replying(() => {
        setTimeout(() => off.abort(), 5)
        return null
      })
      const called = await talkers.ask('never', { ...gone, signal: off.signal })
      assertEquals(called.answer, '(called-off)')
      const thrown = replying(() => {
        throw new RangeError('no')
      })
      await assertRejects(() => talkers.ask('never', thrown), RangeError, 'no')
      assertEquals(thrown.ends, 1)
      const silent = await talkers.ask('one')
      assertEquals(silent.answer, '(misbehaved)')
      assert(silent.completion.message.includes('has no channel'), silent.completion.message)
      assertEquals((await talkers.ask('one', replying((text) => text))).answer, '"one" 0')
    } finally {
      await talkers.close()
    }
  })

  test('timers of the program fire while it waits, and the host is heard beside them', async () => {
    const talkers = await openTalkers(runtime, {}, {}, ['hello', 'beside=5'])
    try {
      const later = replying(() => delay(50).then(() => 'late'))
      const race = await talkers.ask('race=1', later)
      assertEquals(race.answer, ['slept', true])
      const channel = replying(() => delay(100).then(() => 'now'))
      const { answer, completion } = await talkers.ask('beside=5', channel)
      const [told, ticks] = answer as [string, number]
      assertEquals(told, '"now" 0')
      assert(ticks > 0, `${ticks} ticks`)
      assertEquals([completion.said, completion.heard], [1, 1])
      // The next one meets a clean machine, with the fast way.
      assertEquals((await talkers.ask('one', replying((text) => text))).answer, '"one" 0')
    } finally {
      await talkers.close()
    }
  })

  test('a warm-up that talks is told that nobody hears it, and the program starts', async () => {
    const talkers = await openTalkers(runtime, {}, {}, ['one', 'row=3', 'beside=1'])
    try {
      assertEquals((await talkers.ask('row=2', replying((text) => text))).answer, [
        '"call 0" 0',
        '"call 1" 0',
      ])
    } finally {
      await talkers.close()
    }
  })

  test('what a handler awaits that nothing settles is an error, though it talked before', async () => {
    const talkers = await openTalkers(runtime)
    try {
      const { answer } = await talkers.ask('settles', replying((text) => text))
      assert(String(answer).includes('waits for a promise that nothing will settle'), String(answer))
      const { answer: over } = await talkers.ask('over', replying((text) => text))
      assert(String(over).includes('wanted an integer of at most 1048576'), String(over))
    } finally {
      await talkers.close()
    }
  })

  test('what is said before the answer is heard, and more than the host takes ends the request', async () => {
    const talkers = await openTalkers(runtime)
    try {
      const channel = replying(() => null)
      assertEquals((await talkers.ask('tell=1000', channel)).answer, 'told')
      assertEquals(channel.heard.length, 1000)
      assertEquals((await talkers.ask('spin', replying(() => null), { timeoutMs: 100 })).answer, '(timeout)')
    } finally {
      await talkers.close()
    }
  })

  test('a kept program talks in one request after the other', async () => {
    const talkers = await openTalkers(runtime, { ephemeral: false })
    try {
      for (let round = 0; round < 5; round++) {
        const reply = (text: string) => delay(5).then(() => text)
        for (const what of ['one', 'race=1', 'beside=2']) {
          const { completion } = await talkers.ask(what, replying(reply), { keep: true, check: false })
          assertEquals(completion.outcome, 'answered', what)
        }
      }
      const { outcome, reset } = (await talkers.ask('hello', undefined, { keep: true })).completion
      assertEquals([outcome, reset.state], ['answered', 'clean'])
    } finally {
      await talkers.close()
    }
  })

  test('hundreds wait at the same time, and more than may be parked are refused as by a full queue', async () => {
    const talkers = await openTalkers(runtime, {}, { parked: resolveParked({ each: 200, all: 300 }) }, [
      'hello',
      'one',
    ])
    try {
      const answers = await Promise.all(
        Array.from(
          { length: 200 },
          () => talkers.ask('one', replying((text) => delay(100).then(() => text))),
        ),
      )
      assertEquals(new Set(answers.map(({ answer }) => answer)), new Set(['"one" 0']))
      const off = new AbortController()
      const waiting = Array.from(
        { length: 200 },
        () => talkers.ask('never', { ...replying(() => null), signal: off.signal }),
      )
      await assertRejects(() => talkers.ask('one', replying((text) => text)), QueueFullError)
      assertEquals((await talkers.ask('hello')).answer, 'hello')
      off.abort()
      const ended = await Promise.all(waiting)
      assertEquals(new Set(ended.map(({ answer }) => answer)), new Set(['(called-off)']))
      assertEquals((await talkers.ask('one', replying((text) => text))).answer, '"one" 0')
    } finally {
      await talkers.close()
    }
  })
}
