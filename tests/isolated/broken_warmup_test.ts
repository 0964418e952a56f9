/** Handlers that requests of their warm-up leave of no use. */
import { assertEquals } from '@std/assert'
import { openProduction, testIsolated } from './fixture.ts'

testIsolated('a warm-up that breaks its handler is left out, and serves nobody', async () => {
  const site = await openProduction('broken')
  try {
    for (const path of ['/panics?level=3', '/wears', '/always', '/panics?level=4']) {
      const { status, text } = await site.ask(path)
      const answer = status === 200 ? text : ''
      const wanted = path.startsWith('/panics')
        ? [200, `level ${path.at(-1)}`]
        : path === '/wears'
        ? [200, 'as new']
        : [500, '']
      assertEquals([status, answer], wanted, path)
    }
    // One bad request is no other's affair.
    assertEquals((await site.ask('/panics?level=x')).status, 500)
    assertEquals((await site.ask('/panics?level=5')).text, 'level 5')
  } finally {
    await site.close()
  }
})
