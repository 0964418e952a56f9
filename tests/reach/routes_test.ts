/** Isolated routes that ask the host, in machines. */
import { Router } from '@mayfly/mayfly'
import { caller } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { RUNTIMES, testIsolated } from '../isolated/fixture.ts'

for (const runtime of RUNTIMES) {
  testIsolated(
    `${runtime}: an isolated route calls what its file names, and fetches what the router allows`,
    async () => {
      const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, (request) => {
        const { pathname } = new URL(request.url)
        return new Response(`${pathname} ${request.headers.has('authorization')}`)
      })
      const origin = `http://127.0.0.1:${server.addr.port}`
      const sent: string[] = []
      const callers = new Set<string | undefined>()
      const router = new Router({
        routesDir: fromFileUrl(new URL('./routes', import.meta.url)),
        hotReload: false,
        requestTimeoutMs: 0,
        isolate: {
          vms: 1,
          runtime,
          timeoutMs: 20_000,
          bindings: {
            MAIL: {
              send(to: string) {
                callers.add(caller()?.program)
                if (to === 'nobody') throw new RangeError('no such address')
                sent.push(to)
                return `sent to ${to}`
              },
            },
            slow: (ms: number) => new Promise((done) => setTimeout(() => done(ms), ms)),
            OTHER: () => 'never',
          },
          outbound: { allow: [origin], headers: { [origin]: { authorization: () => 'Bearer very-secret' } } },
        },
      })
      const ask = async (path: string) => {
        const response = await router.fetch(new Request(`http://localhost${path}`))
        return { status: response.status, text: await response.text() }
      }
      try {
        assertEquals(await ask('/mail?what=ann'), { status: 200, text: 'sent to ann' })
        assert([...callers].some((name) => name?.includes('mail.ts')), Deno.inspect(callers))
        assertEquals((await ask('/mail?what=names')).text, '["MAIL","slow"]')
        assertEquals((await ask('/mail?what=many')).text, '[5,1,3]')
        assertEquals((await ask('/mail?what=fail')).text, 'RangeError no such address')
        assert(!/reached/.test((await ask('/mail?what=fetch')).text))
        assertEquals((await ask('/mail?what=late')).text, 'answered')
        assertEquals((await ask('/mail?what=after')).text, 'sent to after')
        // A machine that was not reset would say it now.
        await new Promise((done) => setTimeout(done, 1200))
        assert(!sent.includes('late'))
        assertEquals((await ask('/plain')).text, 'sent to plain')
        assertEquals((await ask(`/ask?url=${origin}/x`)).text, '200 /x true')
        assertStringIncludes((await ask(`/ask?url=http://127.0.0.1:1/`)).text, 'may not reach')
        // Side by side: each has its own answer, on one machine.
        const many = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(`/mail?what=user${at}`)))
        assertEquals(many.map(({ text }) => text), many.map((_, at) => `sent to user${at}`))
        const wrong = await ask('/wrong')
        assert(wrong.status >= 500, wrong.text)
      } finally {
        await router.close()
        await server.shutdown()
      }
    },
  )
}
