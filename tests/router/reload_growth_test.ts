import { assert, assertEquals } from '@std/assert'
import { reloadCycle } from './reload_cycle.ts'

Deno.test('startHotReload keeps nothing per reload: modules, edges, cache, watchers', async () => {
  const { first, last, reloads } = await reloadCycle(100)
  assert(reloads >= 120)
  assertEquals(last, first)
  assertEquals(last.watchers, 2)
})
