/** A request that is parked again and again, ended at each of its parks in every way that the host has: the next one meets a clean machine. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import type { HostMessage } from '../../src/isolate/machines/host_channel.ts'
import type { SubmitOptions } from '../../src/isolate/machines/completion.ts'
import { openTalkers, replying, type Talkers } from './channel/fixture.ts'
import { RUNTIMES, testIn } from './fixture.ts'

const CALLS = 5

/** Ends a request at a park: what it was submitted with, and what is done once its call was heard. */
type End = () => { readonly options: Partial<SubmitOptions>; at(): void; readonly wanted: string | null }

const ENDS: Readonly<Record<string, End>> = {
  'called off while it runs on': () => {
    const off = new AbortController()
    return {
      options: { signal: off.signal } as Partial<SubmitOptions>,
      at: () => off.abort(),
      wanted: '(called-off)',
    }
  },
  'called off once it is parked': () => {
    const off = new AbortController()
    const at = () => void setTimeout(() => off.abort(), 20)
    return { options: { signal: off.signal } as Partial<SubmitOptions>, at, wanted: '(called-off)' }
  },
  'out of time': () => ({ options: { timeoutMs: 500 }, at: () => {}, wanted: '(timeout)' }),
  'failed by its channel': () => ({
    options: {},
    at: () => {
      throw new RangeError('no more')
    },
    wanted: null,
  }),
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('a request ends at each of its parks, however, and leaves nothing', async () => {
    const talkers = await openTalkers(runtime, {}, { vms: 1 })
    try {
      await assertClean(talkers)
      for (let point = 0; point < CALLS; point++) {
        for (const [name, make] of Object.entries(ENDS)) {
          const what = `call ${point}, ${name}`
          const { options, at, wanted } = make()
          const channel = replying((text) => {
            if (text !== `call ${point}`) return text
            at()
            return null
          })
          const { signal, ...rest } = options as { signal?: AbortSignal }
          const asked = talkers.ask(
            `row=${CALLS}`,
            signal === undefined ? channel : { ...channel, signal },
            rest,
          )
          if (wanted === null) await assertRejects(() => asked, RangeError, 'no more', what)
          else assertEquals((await asked).answer, wanted, what)
          assert(channel.heard.length <= point + 1, `${what}: ${channel.heard}`)
          await assertClean(talkers, what)
        }
      }
    } finally {
      await talkers.close()
    }
  })

  testIn(runtime)('machines that are closed at a park of a request wait for its own end', async () => {
    for (let point = 0; point < CALLS; point++) {
      const talkers = await openTalkers(runtime, {}, { vms: 1 })
      const parked = Promise.withResolvers<void>()
      const channel = replying((text) => {
        if (text !== `call ${point}`) return text
        parked.resolve()
        return null
      })
      const asked = talkers.ask(`row=${CALLS}`, channel, { timeoutMs: 1000 })
      await Promise.race([parked.promise, asked])
      await talkers.close()
      assertEquals([(await asked).answer, channel.ends], ['(timeout)', 1], `call ${point}`)
    }
  })
}

/** The numbers of calls count in the module: a machine that was not reset would go on from the last one. */
async function assertClean(talkers: Talkers, what = 'at first'): Promise<void> {
  const ids: number[] = []
  const channel = replying((text, { id }: HostMessage) => {
    ids.push(id)
    return text
  })
  const { answer } = await talkers.ask('row=2', channel)
  assertEquals(answer, ['"call 0" 0', '"call 1" 0'], what)
  assertEquals(ids, [1, 3], what)
}
