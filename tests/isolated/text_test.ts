/**
 * What a request asks of the host beside its answer: nothing.
 *
 * Text of any script is as warm as ASCII after the default warm-up. A request that meets code of another kind of text makes V8 give up what
 * it optimised, which wakes its threads: three exits more and three times the reset, every time.
 */
import { assert } from '@std/assert'
import { fewestExits, inSomeSite } from './exits.ts'
import { openProduction, RUNTIMES, type Site, testIn } from './fixture.ts'

const TEXTS = ['a b', 'grüße', '漢字', '🐝', 'α'.repeat(50)]

for (const runtime of RUNTIMES) {
  const test = (name: string, check: (site: Site) => Promise<void>) =>
    testIn(runtime)(name, () => inSomeSite(() => openProduction('text', runtime), check))

  test('a query of any script takes no more exits than one of ASCII', async (site) => {
    const plain = await exitsOf(site, 'abc')
    for (const text of TEXTS) {
      const exits = await exitsOf(site, text)
      assert(exits <= plain + 1, `${exits} exits for ${text}, ${plain} for abc`)
    }
  })

  test('asking whether something is a terminal takes no exit', async (site) => {
    const plain = await exitsOf(site, 'abc')
    const exits = await fewestExits(site, '/terminal', JSON.stringify(Array(5).fill(false)))
    assert(exits <= plain + 1, `${exits} exits, ${plain} for abc`)
  })
}

function exitsOf(site: Site, text: string): Promise<number> {
  return fewestExits(site, `/query?${new URLSearchParams({ q: text })}`, JSON.stringify({ q: text }))
}
