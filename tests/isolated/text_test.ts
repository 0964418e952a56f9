/**
 * What a request asks of the host beside its answer: nothing.
 *
 * Text of any script is as warm as ASCII after the default warm-up. A request that meets code of another kind of text makes V8 give up what
 * it optimised, which wakes its threads: three exits more and three times the reset, every time.
 */
import { assert, assertEquals } from '@std/assert'
import { until } from '../until.ts'
import { openProduction, RUNTIMES, type Site, testIn } from './fixture.ts'
import { inSomeSnapshot } from './some_snapshot.ts'

const TEXTS = ['a b', 'grüße', '漢字', '🐝', 'α'.repeat(50)]
/** Requests of each: the fewest exits are those of the request itself. */
const TRIES = 10

for (const runtime of RUNTIMES) {
  const test = (name: string, check: (site: Site) => Promise<void>) =>
    testIn(runtime)(name, () => inSomeSnapshot(() => openProduction('text', runtime), check))

  test('a query of any script takes no more exits than one of ASCII', async (site) => {
    const plain = await fewestExits(site, 'abc')
    for (const text of TEXTS) {
      const exits = await fewestExits(site, text)
      assert(exits <= plain + 1, `${exits} exits for ${text}, ${plain} for abc`)
    }
  })

  test('asking whether something is a terminal takes no exit', async (site) => {
    const plain = await fewestExits(site, 'abc')
    const exits = await fewestExitsOf(site, '/terminal', JSON.stringify(Array(5).fill(false)))
    assert(exits <= plain + 1, `${exits} exits, ${plain} for abc`)
  })
}

function fewestExits(site: Site, text: string): Promise<number> {
  return fewestExitsOf(site, `/query?${new URLSearchParams({ q: text })}`, JSON.stringify({ q: text }))
}

async function fewestExitsOf(site: Site, path: string, wanted: string): Promise<number> {
  const before = site.events.length
  for (let i = 0; i < TRIES; i++) {
    const answer = await site.ask(path)
    assertEquals(answer.text, wanted)
  }
  const told = () => site.events.slice(before).filter(({ kind }) => kind === 'isolate:complete')
  await until('the events of the requests', () => told().length >= TRIES)
  return Math.min(...told().map(({ metadata }) => (metadata as { exits: number }).exits))
}
