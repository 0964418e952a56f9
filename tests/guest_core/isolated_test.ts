/** The differential table as isolated handlers: each runtime gives the answer that Deno gives outside of a machine. */
import { assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { openSite, testIsolated } from '../isolated/fixture.ts'
import { outcomeOf } from './cases/case.ts'
import { CASES } from './cases/mod.ts'

const routesDir = fromFileUrl(new URL('./routes', import.meta.url))

for (const runtime of ['deno', 'core'] as const) {
  testIsolated(`every case of the table ends in the runtime ${runtime} as it does here`, async () => {
    const site = openSite('', { routesDir, isolate: { vms: 1, runtime } })
    try {
      const wrong: string[] = []
      for (const [name, run] of Object.entries(CASES)) {
        const wanted = await outcomeOf(globalThis, run)
        const { status, text } = await site.ask(`/case?name=${encodeURIComponent(name)}`)
        if (status !== 200 || text !== wanted) wrong.push(`${name}: ${status} ${text}, wanted ${wanted}`)
      }
      assertEquals(wrong, [])
    } finally {
      await site.close()
    }
  })
}
