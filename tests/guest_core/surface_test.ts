/** Each case of the table, in Deno and over the surface of the small guest: the results are the same. */
import { assert, assertEquals } from '@std/assert'
import { createSurface } from '../../native/guest-core/web/globals.ts'
import { setHost } from '../../native/guest-core/web/host.ts'
import { outcomeOf, type Web } from './cases/case.ts'
import { CASES } from './cases/mod.ts'
import { createDenoHost } from './host_of_deno.ts'

const logged: string[] = []
setHost(createDenoHost((text) => logged.push(text)))
const surface = createSurface() as unknown as Web

Deno.test('the table has at least 150 cases', () =>
  assert(Object.keys(CASES).length >= 150, String(Object.keys(CASES).length)))

for (const [name, run] of Object.entries(CASES)) {
  Deno.test(`as in Deno: ${name}`, async () => {
    assertEquals(await outcomeOf(surface, run), await outcomeOf(globalThis, run))
  })
}
