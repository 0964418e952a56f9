/** Responses of programs whose bodies come piece by piece. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { CrashError, OutputError, type SandboxCode, ThrownError, TimeoutError } from '@mayfly/mayfly/sandbox'
import { inEachSandbox } from './fixture.ts'

const program = (body: string, more: Partial<SandboxCode> = {}): SandboxCode => ({
  mainModule: 'main.js',
  modules: {
    'main.js': `
      const pause = (ms) => new Promise((done) => setTimeout(done, ms))
      const encode = (text) => new TextEncoder().encode(text)
      const stream = (pull, cancel) => new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }))
      export default { async fetch(request, env) { ${body} } }
    `,
  },
  ...more,
})

const TICKS = `
  let left = 3
  return stream(async (controller) => {
    await pause(20)
    controller.enqueue(encode('tick ' + left + ';'))
    if (--left === 0) controller.close()
  })`

inEachSandbox({}, ({ runtime, test, sandbox }) => {
  test('pieces come as they are made: once, by name, and of a kept program', async () => {
    assertEquals(
      await (await sandbox().load(program(TICKS)).fetch('http://x/')).text(),
      'tick 3;tick 2;tick 1;',
    )
    const named = sandbox().get('ticks', program(TICKS))
    const answers = await Promise.all([1, 2, 3].map(async () => (await named.fetch('http://x/')).text()))
    assertEquals(new Set(answers), new Set(['tick 3;tick 2;tick 1;']))
    const kept = sandbox().get(
      'kept ticks',
      program(`globalThis.n = (globalThis.n ?? 0) + 1; ${TICKS.replaceAll("'tick '", "globalThis.n + ' '")}`),
      {
        ephemeral: false,
      },
    )
    assertEquals(await (await kept.fetch('http://x/')).text(), '1 3;1 2;1 1;')
    assertEquals(await (await kept.fetch('http://x/')).text(), '2 3;2 2;2 1;')
  })

  test('who goes away has its stream cancelled, and what it began ended', async () => {
    const told: string[] = []
    const worker = sandbox().load(program(
      `return stream(async (c) => { await pause(1); c.enqueue(encode('x')) }, () => env.TELL('cancelled'))`,
      { env: { TELL: (what: string) => void told.push(what) } },
    ))
    const reader = (await worker.fetch('http://x/')).body!.getReader()
    assert(!(await reader.read()).done)
    await reader.cancel()
    for (let round = 0; told.length === 0 && round < 2000; round++) {
      await new Promise((done) => setTimeout(done, 5))
    }
    assertEquals(told, ['cancelled'])
    assertEquals(
      await (await sandbox().load(program(TICKS)).fetch('http://x/')).text(),
      'tick 3;tick 2;tick 1;',
    )
  })

  test('a stream that breaks rejects with the error of its cause', async () => {
    const broken = async (body: string, limits: SandboxCode['limits'] = {}) => {
      const response = await sandbox().load(program(body, { limits })).fetch('http://x/')
      return await response.text().then(() => null, (error) => error)
    }
    const thrown = await broken(`return stream(async () => { await pause(1); throw new RangeError('no') })`)
    assert(thrown instanceof ThrownError && thrown.name === 'RangeError', Deno.inspect(thrown))
    const silent = await broken(`console.log('said'); return stream(() => new Promise(() => {}))`, {
      streamIdleMs: 200,
    })
    assert(silent instanceof TimeoutError, Deno.inspect(silent))
    assertEquals([silent.limit, silent.logs], [{ name: 'streamIdleMs', value: 200 }, 'said\n'])
    const long = await broken(`return stream((c) => c.enqueue(new Uint8Array(50_000)))`, {
      streamBytes: 1_000_000,
    })
    assert(long instanceof OutputError && long.limit.name === 'streamBytes', Deno.inspect(long))
    const slow = await broken(`return stream(async (c) => { await pause(10); c.enqueue(encode('x')) })`, {
      streamMs: 300,
    })
    assert(slow instanceof TimeoutError && slow.limit.name === 'streamMs', Deno.inspect(slow))
    await assertRejects(
      () => sandbox().load(program('return stream((c) => c.enqueue(7))')).fetch('http://x/'),
      ThrownError,
    )
  })

  test('a program that says what belongs to no stream gave no answer, and the next run is right', async () => {
    // No program of the other runtime reaches its standard output.
    if (runtime !== 'deno') return
    const forges = (...messages: string[]) =>
      sandbox().load(program(`
        const { writeSync } = process.getBuiltinModule('node:fs')
        for (const [head, body] of ${JSON.stringify(messages.map((message) => message.split(' ')))}) {
          const frame = new Uint8Array(20 + head.length + body.length)
          frame.set([...encode('MAYF'), 1, 3])
          const view = new DataView(frame.buffer)
          view.setUint32(8, 4 + head.length, true)
          view.setUint32(12, body.length, true)
          view.setUint32(16, 1, true)
          frame.set(encode(head + body), 20)
          writeSync(1, frame)
        }
        await pause(5000)`)).fetch('http://x/')
    const HEAD = '["answer"] {"status":200,"headers":[]}'
    await assertRejects(() => forges('["piece"] x'), CrashError, 'belongs to no stream')
    await assertRejects(() => forges('["answer"] {"status":"200"}'), CrashError, 'gave no valid answer')
    const response = await forges(HEAD, '["peace"] x')
    await assertRejects(() => response.text(), CrashError, 'said no piece of its stream')
    assertEquals(await (await forges(HEAD, '["piece"] x', '["end"] ')).text(), 'x')
    assertEquals(
      await (await sandbox().load(program(TICKS)).fetch('http://x/')).text(),
      'tick 3;tick 2;tick 1;',
    )
  })

  test('a program streams what another one streams', async () => {
    const inner = sandbox().get('inner ticks', program(TICKS))
    const outer = sandbox().load(program(`return env.INNER.fetch(request.url)`, { env: { INNER: inner } }))
    assertEquals(await (await outer.fetch('http://x/')).text(), 'tick 3;tick 2;tick 1;')
  })
})
