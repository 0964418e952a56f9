/** Each limit of a request as a handler meets it: one below, at it, one above; its event; and a clean machine afterwards. */
import { assert, assertEquals } from '@std/assert'
import { inEachRuntime, OF_PROGRAMS, openSite, problemOf, type Suite } from './fixture.ts'

/** What Deno cannot do without: a refusal ends the program. */
const FATAL = [['files', 'workers', 3, 20, 64], ['mappings', 'tables', 100, 5000, 4096]] as const

inEachRuntime((runtime) => openSite('bounds', { isolate: { vms: 1, runtime } }), suite)

function suite({ runtime, test, site }: Suite): void {
  /** What the last request was told of, beside `isolate:complete`. */
  function told(): { kind: string; reason: unknown; limit: unknown; call?: unknown; times?: unknown }[] {
    return site.events.splice(0)
      .filter(({ kind }) => kind !== 'isolate:complete' && !OF_PROGRAMS.has(kind))
      .map(({ kind, metadata }) => {
        const { reason, limit, call, times } = metadata as Record<string, unknown>
        return { kind, reason, limit, ...(call === undefined ? {} : { call, times }) }
      })
  }

  /** Answers of 200 that nothing is told of. */
  async function assertFine(...paths: string[]): Promise<void> {
    for (const path of paths) {
      told()
      assertEquals((await site.ask(path)).status, 200, path)
      assertEquals(told(), [], path)
    }
  }

  /** A problem, its event, and the next request. */
  async function assertEnds(
    path: string,
    status: number,
    type: string,
    event: { kind: string; reason: string; limit?: number },
  ): Promise<void> {
    told()
    assertEquals(await problemOf(site, path), { status, type }, path)
    assertEquals(told(), [{ limit: undefined, ...event }], path)
    await assertFine('/do?what=work&n=1')
  }

  test('CPU time over cpuMs is 504, whatever the wall clock says', async () => {
    await assertFine('/do?what=work&n=50')
    const event = { kind: 'isolate:timeout', reason: 'cpuMs', limit: 400 }
    await assertEnds('/do?what=loop', 504, 'isolation-timeout', event)
    await assertEnds('/do?what=work&n=60000', 504, 'isolation-timeout', event)
  })

  test('system calls over the limit are 502', async () => {
    // The answer is one too.
    await assertFine('/do?what=writes&n=98', '/do?what=writes&n=99')
    const event = { kind: 'isolate:crash', reason: 'systemCalls', limit: 100 }
    await assertEnds('/do?what=writes&n=100', 502, 'isolation-calls', event)
    await assertFine('/do?what=writes&n=99')
  })

  test('a log over the limit is cut, with a note, and told; the answer stands', async () => {
    for (const n of [999, 1000, 1001, 50_000]) {
      told()
      const { answer, lines } = await withErrors(() => site.ask(`/do?what=log&n=${n}`))
      assertEquals([answer.status, answer.text], [200, 'done'])
      assertEquals(lines.join('').match(/x{9,}/g)?.map((run) => run.length), [Math.min(n - 1, 1000)])
      const cut = n > 1000
      assertEquals(lines.join('').includes('its log is over 1000 bytes; the rest was dropped'), cut)
      assertEquals(told(), cut ? [{ kind: 'isolate:denied', reason: 'logBytes', limit: 1000 }] : [])
    }
  })

  for (const what of ['text', 'bytes', 'stream']) {
    test(`${what} over outputBytes is 502, and told as no answer`, async () => {
      await assertFine(`/do?what=${what}&n=999`, `/do?what=${what}&n=1000`)
      const event = { kind: 'isolate:crash', reason: 'outputBytes', limit: 1000 }
      await assertEnds(`/do?what=${what}&n=1001`, 502, 'isolation-output', event)
    })
  }

  test('headers over what a frame holds are 502, and told as no answer', async () => {
    await assertFine('/do?what=header&n=200000')
    const event = { kind: 'isolate:crash', reason: 'outputBytes', limit: 1000 }
    await assertEnds('/do?what=header&n=1100000', 502, 'isolation-output', event)
  })

  test('an answer that the host refuses is told as no answer', async () => {
    const reason = `Reading a guest's answer: 1 bytes of body, want none with status 204`
    await assertEnds('/do?what=bodiless&n=1', 502, 'isolation-crash', { kind: 'isolate:crash', reason })
  })

  // The runtime core starts no threads and opens nothing: its handlers cannot meet these.
  if (runtime === 'deno') testDescriptors()

  function testDescriptors(): void {
    test('a thread over the limit is refused and told', async () => {
      await assertFine('/crowd?n=2')
      const { status, text } = await site.ask('/crowd?n=40')
      assertEquals(status, 200)
      // Deno has some of its own.
      assert(Number(text) > 20 && Number(text) < 40, text)
      const denied = { kind: 'isolate:denied', reason: 'threads', limit: 40, call: 'clone3', times: 1 }
      assertEquals(told(), [denied])
      await assertFine('/crowd?n=2')
    })

    for (const [reason, what, fine, over, limit] of FATAL) {
      test(`${reason} over the limit are refused and told, and end what cannot do without`, async () => {
        await assertFine(`/hold?what=${what}&n=${fine}`)
        const problem = await problemOf(site, `/hold?what=${what}&n=${over}`)
        assertEquals(problem, { status: 502, type: 'isolation-crash' })
        const events = told()
        const denied = events.filter((event) => event.reason === reason)
        assert(denied.length > 0, Deno.inspect(events))
        for (const event of denied) assertEquals([event.kind, event.limit], ['isolate:denied', limit])
        assertEquals(events.at(-1), { kind: 'isolate:crash', reason: undefined, limit: undefined })
        await assertFine(`/hold?what=${what}&n=${fine}`)
      })
    }
  }
}

/** What a request wrote to the host's standard error, by line. */
async function withErrors<T>(ask: () => Promise<T>): Promise<{ answer: T; lines: string[] }> {
  const lines: string[] = []
  const { error } = console
  console.error = (line: string) => void lines.push(line)
  try {
    return { answer: await ask(), lines }
  } finally {
    console.error = error
  }
}
