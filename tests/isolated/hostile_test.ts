/** Handlers that do their worst: each is answered by its kind, and the very next request by a clean machine. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { StreamLimitError } from '../../src/reach/streams/limits.ts'
import { assertAnswer, inEachRuntime, openProduction, problemOf, type Suite, type Wanted } from './fixture.ts'

/** What is answered otherwise in the runtime core: there is no `Deno`, and no `process`. */
const IN_CORE: Readonly<Record<string, Wanted>> = {
  kill: [500, 'about:blank'],
  exit: [500, 'about:blank'],
  exit_zero: [500, 'about:blank'],
  node_exit: [500, 'about:blank'],
  abort: [500, 'about:blank'],
  stdout: [500, 'about:blank'],
  title: [500, 'about:blank'],
}

/** Attacks that nothing in the runtime core can do: `close` and `write` of descriptors are not within its reach. */
const OF_DENO: ReadonlySet<string> = new Set(['close_stdin', 'close_stdout', 'stderr'])

inEachRuntime((runtime) => openProduction('hostile', runtime), suite)

function suite({ runtime, test, site }: Suite): void {
  /** What an attack is answered with: status and problem type; a text is the body of a 200. */
  const ANSWERS: Readonly<Record<string, Wanted>> = {
    loop: [504, 'isolation-timeout'],
    loop_after_await: [504, 'isolation-timeout'],
    microtasks: [504, 'isolation-timeout'],
    timers_for_ever: [504, 'isolation-timeout'],
    regexp: [504, 'isolation-timeout'],
    kill: [502, 'isolation-crash'],
    throw_in_timer: [502, 'isolation-crash'],
    exit: [502, 'isolation-crash'],
    exit_zero: [502, 'isolation-crash'],
    node_exit: [502, 'isolation-crash'],
    abort: [502, 'isolation-crash'],
    output: [502, 'isolation-output'],
    output_bytes: [502, 'isolation-output'],
    http_error: [418, 'teapot'],
    fail: [409, 'about:blank'],
    recursion: [500, 'about:blank'],
    wasm_trap: [500, 'about:blank'],
    throw: [500, 'about:blank'],
    throw_nothing: [500, 'about:blank'],
    throw_trap: [500, 'about:blank'],
    throw_getter: [500, 'about:blank'],
    reject: [500, 'about:blank'],
    returns_nothing: [500, 'about:blank'],
    returns_number: [500, 'about:blank'],
    never: [500, 'about:blank'],
    headers: [502, 'isolation-output'],
    many_timers: 'null',
    sleep: 'done',
    console: 'done',
    stdout: 'done',
    debugger: 'done',
    title: 'done',
    late: 'answered',
    reject_elsewhere: 'done',
  }

  test('output_stream ends with the bytes of a stream, and the next request is right', async () => {
    await assertRejects(
      () => site.ask('/do?what=output_stream'),
      StreamLimitError,
      'streamBytes, 100000 bytes',
    )
    await assertClean()
  })

  for (const [attack, answer] of Object.entries(ANSWERS)) {
    const wanted = runtime === 'core' ? IN_CORE[attack] ?? answer : answer
    const words = typeof wanted === 'string' ? 'is answered' : `is ${wanted.join(' ')}`
    test(`${attack} ${words}, and the next request is right`, async () => {
      // One that ends by itself has time for it: how long it takes is the host's affair.
      const isEnded = typeof wanted !== 'string' && wanted[0] === 504
      await assertAnswer(site, `${isEnded ? '/do' : '/patient_do'}?what=${attack}`, wanted)
      await assertClean()
    })
  }

  /** Attacks that may end in one of several ways; what counts is that they end, and what comes after. */
  const OPEN_ENDED: Readonly<Record<string, readonly number[]>> = {
    promise_storm: [504, 507],
    json_recursion: [500, 502, 504, 507],
    close_stdin: [500, 502],
    close_stdout: [500, 502],
    stderr: [502, 504],
    console_for_ever: [502, 504],
    prototype: [200, 500, 502],
    globals: [200, 500, 502],
    status: [500, 502],
    atomics: [500, 504, 200],
  }

  for (const [attack, ends] of Object.entries(OPEN_ENDED)) {
    const statuses = runtime === 'core' && OF_DENO.has(attack) ? [500] : ends
    test(`${attack} ends with ${statuses.join(' or ')}, and the next request is right`, async () => {
      const path = statuses.includes(504) ? '/do' : '/patient_do'
      const { status } = await site.ask(`${path}?what=${attack}`)
      assert(statuses.includes(status), `status ${status}`)
      await assertClean()
    })
  }

  /** Each kind of memory; an allocation that fails is an error of the handler's, one that went over is 507. */
  const EATERS: Readonly<Record<string, readonly number[]>> = {
    array: [507],
    buffers: [507],
    four_gigabytes: [500, 507],
    string: [500, 507],
    wasm_memory: [500, 507],
  }

  for (const [attack, statuses] of Object.entries(EATERS)) {
    test(
      `too much memory by ${attack} is ${statuses.join(' or ')}, and the next request is right`,
      async () => {
        const { status, type } = await problemOf(site, `/eat?what=${attack}`)
        assert(statuses.includes(status), `status ${status}`)
        assertEquals(type, status === 507 ? 'isolation-memory' : 'about:blank')
        await assertClean()
      },
    )
  }

  test('nothing of an error that was thrown reaches a client', async () => {
    for (const attack of ['throw', 'throw_trap', 'throw_getter', 'reject']) {
      for (const accept of ['text/html', 'application/problem+json', 'text/plain']) {
        const { status, text, headers } = await site.ask(`/do?what=${attack}`, { headers: { accept } })
        assertEquals(status, 500)
        const whole = `${text} ${Deno.inspect([...headers])}`
        for (const word of ['secret', 'do.ts', 'program.js', 'isolat']) {
          assert(!whole.includes(word), `${attack} as ${accept} tells "${word}"`)
        }
      }
    }
    const { status, text, headers } = await site.ask('/do?what=http_error')
    assertEquals([status, headers.get('x-pot')], [418, 'tea'])
    assertStringIncludes(text, 'short and stout')
  })

  /** The counter of the machine says that nothing was left in it. */
  async function assertClean(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      const { status, text } = await site.ask('/hello')
      assertEquals([status, text], [200, '{"hello":"world","calls":1}'])
    }
  }
}
