/** Requests that talk with the host while they are under way, in real machines: parked while they wait, and every way to end. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { delay } from '@std/async'
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
}
