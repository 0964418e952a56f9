import { assert, assertEquals } from '@std/assert'
import { findFault } from '../../benchmark/answers.ts'
import { WAYS } from '../../benchmark/isolated/plan.ts'
import { keepSamples } from '../../benchmark/isolated/samples.ts'
import { router as plain } from '../../benchmark/main.ts'
import { router } from '../../benchmark/main-sampled.ts'
import { testIsolated } from '../isolated/fixture.ts'
import { until } from '../until.ts'

async function answers(server: typeof router, route: string): Promise<void> {
  const response = await server.fetch(new Request(`http://localhost:8000${route}`))
  assertEquals(await findFault(route, response), undefined, route)
}

testIsolated(
  'isolated routes of the benchmark give the right answers, and their times are kept',
  async () => {
    const take = keepSamples(router)
    try {
      await router.ready()
      const routes = WAYS.filter(({ server }) => server === 'mayfly-sampled')
      let told = 0
      router.on('isolate:complete', () => void told++)
      for (const { route } of routes) await answers(router, route)
      // A reset is told after its answer.
      await until('the events of the requests', () => told >= routes.length)
      const { requests, run, reset, vm } = take()
      assertEquals(requests, routes.length)
      assert(run.p50 > 0 && vm.p50 >= run.p50 && vm.p99 >= reset.p99)
      assertEquals(take().requests, 0)
    } finally {
      await router.close()
    }
  },
)

Deno.test('a fresh worker and a fresh process for each request give the right answers', async () => {
  for (const route of ['/test-fresh-worker', '/test-fresh-process']) {
    await answers(plain, route)
    await answers(plain, route)
  }
})
