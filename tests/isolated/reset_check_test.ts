/**
 * Every isolated handler of the example site, of the benchmark and of these tests, with the strict check after each request: memory,
 * registers and all tables of the machine must be the snapshot's, byte for byte.
 */
import { assert, assertEquals } from '@std/assert'
import { Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { loadRoutes } from '../../src/router/load/load.ts'
import { type Runtime, RUNTIMES, testIn } from './fixture.ts'

const FOLDERS = [
  'routes',
  'benchmark/routes',
  'benchmark/soak/routes',
  ...['context', 'hostile', 'limits', 'world'].map((name) => `tests/isolated/routes/${name}`),
]
/** What a handler needs to be asked for something else than its default. */
const QUERIES: Readonly<Record<string, string>> = {
  '/dirt': '?do=write',
  '/do': '?what=nothing',
  '/eat': '?what=nothing',
  '/forge': '?what=nothing',
  '/loop': '?what=nothing',
  '/poison': '?what=nothing',
  '/quick': '?ms=0',
  '/reach': '?by=permission',
  '/show': '?what=text',
}
const ROUNDS = 3
/** It streams for a minute; streams have tests of their own. */
const ENDLESS = '/reach/clock'

for (const runtime of RUNTIMES) {
  for (const folder of FOLDERS) check(runtime, folder)
}

function check(runtime: Runtime, folder: string): void {
  testIn(runtime)(`every handler of ${folder} leaves its machine as it was, byte for byte`, async () => {
    const routesDir = fromFileUrl(new URL(`../../${folder}`, import.meta.url))
    const routes = (await loadRoutes({ routesDir })).routes.filter(({ isolated, pattern }) =>
      isolated && pattern !== ENDLESS
    )
    assert(routes.length > 0)
    await withCheckedRouter(routesDir, runtime, async (router, answeredBy) => {
      let asked = 0
      for (let round = 0; round < ROUNDS; round++) {
        for (const { pattern, methods, mount } of routes) {
          for (const method of mount ? ['GET'] : methods) {
            asked++
            const before = answeredBy.length
            const path = pattern.replace(/\[[^\]]+\]/g, 'x') + (QUERIES[pattern] ?? '')
            const response = await router.fetch(new Request(`http://localhost${path}`, { method }))
            const text = await response.text()
            const reasons = answeredBy.slice(before).filter((reason) => reason !== '')
            // Kept programs (by their names) differ by design: they show that the check sees something.
            if (pattern.endsWith('kept')) assertEquals([response.status, reasons.length], [502, 1])
            else assertEquals(reasons, [], `${method} ${path}: ${text}`)
          }
        }
      }
      assert(answeredBy.length > 0 && answeredBy.length <= asked)
    })
  })
}

/** A router whose requests are checked, and why each of them failed in its machine; '' for those that did not. */
async function withCheckedRouter(
  routesDir: string,
  runtime: Runtime,
  run: (router: Router, reasons: readonly string[]) => Promise<void>,
): Promise<void> {
  const variable = 'MAYFLY_CHECK_RESETS'
  Deno.env.set(variable, '1')
  const router = new Router({
    routesDir,
    hotReload: false,
    requestTimeoutMs: 0,
    isolate: { vms: 1, runtime },
  })
  const reasons: string[] = []
  router.on('isolate:complete', ({ metadata: { reason = '' } }) => void reasons.push(reason))
  try {
    await run(router, reasons)
  } finally {
    await router.close()
    Deno.env.delete(variable)
  }
}
