import { assert, assertEquals } from '@std/assert'
import type { Router } from '@mayfly/mayfly'
import { ANSWERS, findFault } from '../../benchmark/answers.ts'
import { GROUPS, type ServerName, SERVERS, targets } from '../../benchmark/plan.ts'

const PORTABLE = Object.keys(ANSWERS).filter((route) => !/isolated|fresh/.test(route))

async function load(
  name: ServerName,
): Promise<{ fetch(request: Request): Response | Promise<Response>; close(): Promise<void> }> {
  const module = await import(`../../benchmark/${SERVERS[name]}`)
  const router: Router | undefined = module.router
  return { fetch: router?.fetch ?? module.fetch, close: async () => await router?.close() }
}

for (const name of Object.keys(SERVERS) as ServerName[]) {
  Deno.test(`the benchmark server ${name} gives the right answers`, async () => {
    const server = await load(name)
    try {
      for (const { route, servers } of GROUPS) {
        if (!servers.includes(name) || route.includes('isolated')) continue
        // Twice, so that what is cached is right as well.
        for (let i = 0; i < 2; i++) {
          assertEquals(
            await findFault(route, await server.fetch(new Request(`http://localhost:8000${route}`))),
            undefined,
            route,
          )
        }
      }
    } finally {
      await server.close()
    }
  })
}

Deno.test('main.ts answers /test-worker with 503, as it has no pool', async () => {
  const server = await load('mayfly')
  try {
    const response = await server.fetch(new Request('http://localhost:8000/test-worker'))
    assertEquals(response.status, 503)
    await response.body?.cancel()
  } finally {
    await server.close()
  }
})

Deno.test('main-worker.ts takes as many tasks at once as the load has requests', async () => {
  const server = await load('mayfly-worker')
  try {
    const responses = await Promise.all(
      Array.from({ length: 300 }, () => server.fetch(new Request('http://localhost:8000/test-worker'))),
    )
    for (const response of responses) assertEquals(await findFault('/test-worker', response), undefined)
  } finally {
    await server.close()
  }
})

Deno.test('findFault sees a wrong status, type and body', async () => {
  const right = ANSWERS['/test']
  const response = (change: Partial<typeof right>) => {
    const { status, type, body } = { ...right, ...change }
    return new Response(body, { status, headers: { 'content-type': type } })
  }
  assertEquals(await findFault('/test', response({})), undefined)
  for (const change of [{ status: 500 }, { type: 'text/plain' }, { body: '{"hello":"world"}' }]) {
    assert(await findFault('/test', response(change)) !== undefined)
  }
})

Deno.test('every route of the plan has an answer, and every target is measured', () => {
  for (const { route } of GROUPS) assert(Object.hasOwn(ANSWERS, route), route)
  for (const route of PORTABLE) assert(GROUPS.some((group) => group.route === route), route)
  for (const { of, to } of targets(4)) {
    for (const { server, route } of [of, to]) {
      assert(
        GROUPS.some((group) => group.route === route && group.servers.includes(server)),
        `${server} ${route}`,
      )
    }
  }
  assertEquals(targets(4).at(-1)?.atLeast, 3.2)
})
