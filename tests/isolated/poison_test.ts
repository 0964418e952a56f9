/**
 * Handlers that poison what the guest's code stands on, or turn the runtime against itself. The guest's code may fail of it, but only
 * for this request, and the host is told nothing that it believes.
 */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { StreamLimitError } from '../../src/reach/streams/limits.ts'
import { inEachRuntime, openProduction, type Suite } from './fixture.ts'

/** What ends otherwise in the runtime core. */
const IN_CORE: Readonly<Record<string, readonly number[]>> = {
  // There is no Deno, and no WebAssembly.
  every_function: [500],
  read_stdin: [500],
  wasm_loop: [500],
  // There is no waitAsync.
  shared_memory: [500],
  // An array that grows by more than is left of the heap fails in the handler.
  sparse: [500, 504, 507],
  sort: [500, 504, 507],
}

inEachRuntime((runtime) => openProduction('hostile', runtime), suite)

function suite({ runtime, test, site }: Suite): void {
  /** The statuses that a deed may end with: more than one where it depends on what a version of Deno uses inside. */
  const STATUSES: Readonly<Record<string, readonly number[]>> = {
    json: [200, 500, 502],
    arrays: [200, 500, 502],
    array_iterator: [200, 500, 502],
    promises: [200, 500, 502],
    promise_then: [200, 500, 502],
    encoders: [200, 500, 502],
    bytes: [200, 500, 502],
    objects: [200, 500, 502],
    functions: [200, 500, 502],
    strings: [200, 500, 502],
    maps: [200, 500, 502],
    responses: [200, 500, 502],
    errors: [500, 502],
    deno: [200, 500, 502],
    thenable: [200, 500, 502],
    setters: [200, 500, 502],
    species: [200, 500, 502],
    stack_trace: [500],
    stack_loop: [504],
    stack_limit: [500, 507],
    frozen: [200],
    throw_symbol: [500],
    throw_revoked: [500],
    throw_message: [500],
    throw_cause: [500],
    throw_from_prototype: [500],
    response_getter: [500],
    response_proxy: [200, 500],
    response_used: [500],
    stream_for_ever: [504],
    stream_error: [500],
    stream_objects: [500],
    context: [200],
    import_data: [200, 500],
    import_node: [500],
    eval: [200],
    function: [200],
    fetch: [500],
    read_stdin: [504],
    internals: [200, 500, 502, 504],
    every_function: [200, 502, 504],
    shared_memory: [200],
    finalizers: [200],
    bigint: [500],
    long_string: [500],
    sparse: [504, 507],
    sort: [504, 507],
    cycle: [500],
    to_json: [504],
    clone: [504, 507],
    intervals: [200],
    microtask_after: [200],
    wasm_recursion: [500],
    wasm_loop: [504],
    inspect: [200, 500],
  }

  test('stream_never ends with its idle time, and the next request is right', async () => {
    await assertRejects(
      () => site.ask('/poison?what=stream_never'),
      StreamLimitError,
      'streamIdleMs, 1000 ms',
    )
    assertEquals((await site.ask('/hello')).text, '{"hello":"world","calls":1}')
  })

  for (const [deed, ends] of Object.entries(STATUSES)) {
    const statuses = runtime === 'core' ? IN_CORE[deed] ?? ends : ends
    // One that ends by itself has time for it: how long it takes is the host's affair.
    const path = statuses.includes(504) ? '/poison' : '/patient_poison'
    test(`${deed} ends with ${statuses.join(' or ')}, and the next request is right`, async () => {
      const { status, text } = await site.ask(`${path}?what=${deed}`)
      assert(statuses.includes(status), `status ${status}: ${text.slice(0, 300)}`)
      for (let i = 0; i < 2; i++) {
        assertEquals((await site.ask('/hello')).text, '{"hello":"world","calls":1}')
      }
    })
  }
}
