/** Handlers that requests of their warm-up leave of no use. */
import { assertEquals, assertMatch } from '@std/assert'
import { openProduction, testIsolated } from './fixture.ts'

testIsolated('a warm-up that breaks its handler is left out, and serves nobody', async () => {
  const { error } = console
  const lines: string[] = []
  console.error = (...args: unknown[]) => void lines.push(args.join(' '))
  const site = await openProduction('broken')
  try {
    const wanted: Record<string, string | null> = {
      '/panics?level=3': 'level 3',
      '/panics?level=4': 'level 4',
      '/chosen?level=5': 'level 5',
      '/wears': 'as new',
      '/mended': 'mended',
      '/always': null,
    }
    for (const [path, wants] of Object.entries(wanted)) {
      const { status, text } = await site.ask(path)
      assertEquals([status, status === 200 ? text : null], [wants === null ? 500 : 200, wants], path)
    }
    // One bad request is no other's affair.
    assertEquals((await site.ask('/panics?level=x')).status, 500)
    assertEquals((await site.ask('/panics?level=5')).text, 'level 5')
  } finally {
    console.error = error
    await site.close()
  }
  const said = lines.filter((line) => line.includes('broke it')).sort()
  assertEquals(said.map((line) => line.match(/warm-up of GET .*\/(.*) broke it/)?.[1]), [
    'chosen.ts',
    'panics.ts',
    'wears.ts',
  ])
  assertMatch(said[0]!, /It starts without GET \/chosen\?level=x; `warmup` in its file/)
})
