/** Handlers that write frames of their own past the guest's code: what is no answer is 502, and nothing of it reaches a client. */
import { assertEquals } from '@std/assert'
import { assertAnswer, inEachRuntime, openProduction, type Suite, type Wanted } from './fixture.ts'

/** What a frame is answered with: a status and a problem type, or the body of a 200. */
const ANSWERS: Readonly<Record<string, Wanted>> = {
  right: 'forged',
  garbage: [502, 'isolation-crash'],
  cut: [502, 'isolation-output'],
  version: [502, 'isolation-crash'],
  kind: [502, 'isolation-crash'],
  flags: [502, 'isolation-crash'],
  huge_header: [502, 'isolation-output'],
  huge_body: [502, 'isolation-output'],
  body_over: [502, 'isolation-output'],
  short_lengths: [502, 'isolation-crash'],
  two: [502, 'isolation-crash'],
  no_json: [502, 'isolation-crash'],
  no_utf8: [502, 'isolation-crash'],
  null: [502, 'isolation-crash'],
  array: [502, 'isolation-crash'],
  deep: [502, 'isolation-crash'],
  status_negative: [502, 'isolation-crash'],
  status_huge: [502, 'isolation-crash'],
  status_early: [502, 'isolation-crash'],
  status_fraction: [502, 'isolation-crash'],
  status_text: [502, 'isolation-crash'],
  reason: [502, 'isolation-crash'],
  header_value: [502, 'isolation-crash'],
  header_name: [502, 'isolation-crash'],
  header_object: [502, 'isolation-crash'],
  header_number: [502, 'isolation-crash'],
  header_wide: [502, 'isolation-crash'],
  cookie: [502, 'isolation-crash'],
  // A length or an encoding that lies is set right by the HTTP server, as it is for any handler.
  length: 'short',
  chunked: 'ffff\r\n',
  view: [500, 'about:blank'],
  proto: 'ok',
  error_status: [502, 'isolation-crash'],
  error_long: [502, 'isolation-crash'],
  error_crlf: [502, 'isolation-crash'],
  session: [502, 'isolation-crash'],
  headers_many: [502, 'isolation-crash'],
  headers_most: [502, 'isolation-output'],
  headers_collected: [502, 'isolation-crash'],
  header_spaces: 'ok',
  error_stack: [500, 'about:blank'],
  error_spaces: [500, 'about:blank'],
  error_file: [500, 'about:blank'],
  view_long: [502, 'isolation-crash'],
  view_deep: [502, 'isolation-crash'],
  grants: 'ok',
}

const BY_THE_RULES = 'by the rules'
/** In core, which writes the head of every frame itself, no handler forges one. */
const IN_CORE: Readonly<Record<string, Wanted>> = {
  garbage: BY_THE_RULES,
  cut: BY_THE_RULES,
  version: BY_THE_RULES,
  kind: BY_THE_RULES,
  flags: BY_THE_RULES,
  huge_header: BY_THE_RULES,
  huge_body: BY_THE_RULES,
  // The guest refuses the body, and the error that it answers with has the forged header.
  body_over: '',
  short_lengths: BY_THE_RULES,
  two: BY_THE_RULES,
  // The guest refuses the header, and each error that it would answer with has it too.
  headers_most: [504, 'isolation-timeout'],
}

inEachRuntime((runtime) => openProduction('hostile', runtime), suite)

function suite({ runtime, test, site }: Suite): void {
  for (const [deed, answer] of Object.entries(ANSWERS)) {
    const wanted = runtime === 'core' ? IN_CORE[deed] ?? answer : answer
    test(`a forged frame, ${deed}, is ${wanted}, and the next request is right`, async () => {
      const path = `/forge?what=${deed}`
      await assertAnswer(site, path, wanted)
      const { headers } = await site.ask(path)
      for (
        const name of [
          'x-injected',
          'set-cookie',
          'content-security-policy',
          'x-request-id',
          'x-frame-options',
        ]
      ) {
        assertEquals(headers.get(name), null, name)
      }
      assertEquals(({} as Record<string, unknown>).polluted, undefined)
      assertEquals((await site.ask('/hello')).text, '{"hello":"world","calls":1}')
    })
  }
}
