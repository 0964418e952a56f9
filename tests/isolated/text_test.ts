/**
 * What a request asks of the host beside its answer: nothing.
 *
 * Text of any script is as warm as ASCII after the default warm-up. A request that meets code of another kind of text makes V8 give up what
 * it optimised, which wakes its threads: three exits more and three times the reset, every time.
 */
import { assert, assertEquals } from '@std/assert'
import { inEachRuntime, openProduction, type Suite } from './fixture.ts'

const TEXTS = ['a b', 'grüße', '漢字', '🐝', 'α'.repeat(50)]
/** Requests of each: the fewest exits are those of the request itself. */
const TRIES = 10

inEachRuntime((runtime) => openProduction('text', runtime), suite)

function suite({ test, site }: Suite): void {
  test('a query of any script takes no more exits than one of ASCII', async () => {
    const plain = await fewestExits('abc')
    for (const text of TEXTS) {
      const exits = await fewestExits(text)
      assert(exits <= plain + 1, `${exits} exits for ${text}, ${plain} for abc`)
    }
  })

  test('asking whether something is a terminal takes no exit', async () => {
    const plain = await fewestExits('abc')
    const exits = await fewestExitsOf('/terminal', JSON.stringify(Array(5).fill(false)))
    assert(exits <= plain + 1, `${exits} exits, ${plain} for abc`)
  })

  function fewestExits(text: string): Promise<number> {
    return fewestExitsOf(`/query?${new URLSearchParams({ q: text })}`, JSON.stringify({ q: text }))
  }

  async function fewestExitsOf(path: string, wanted: string): Promise<number> {
    const before = site.events.length
    for (let i = 0; i < TRIES; i++) {
      const answer = await site.ask(path)
      assertEquals(answer.text, wanted)
    }
    const told = () => site.events.slice(before).filter(({ kind }) => kind === 'isolate:complete')
    while (told().length < TRIES) await new Promise((resolve) => setTimeout(resolve, 1))
    return Math.min(...told().map(({ metadata }) => (metadata as { exits: number }).exits))
  }
}
