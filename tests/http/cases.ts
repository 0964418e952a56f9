import { assert, assertEquals, assertMatch } from '@std/assert'
import { exchange, type RawResponse, toRequest } from './raw_client.ts'
import type { Site } from './site.ts'

/** One request and what must come back. */
export interface Case {
  readonly name: string
  /** Method and target: `GET /users/7`. Head and length are added as in `toRequest`. */
  readonly request?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The whole request instead, as it goes over the wire. */
  readonly raw?: string
  readonly status: number
  /** Headers of the response: the text, a pattern, or null for none. */
  readonly has?: Readonly<Record<string, string | RegExp | null>>
  /** The body as text. */
  readonly text?: string | RegExp
  /** The body as JSON. */
  readonly json?: unknown
}

/** Registers one test for each case, each on a connection of its own. */
export function testCases(title: string, site: () => Promise<Site>, cases: readonly Case[]): void {
  for (const wanted of cases) {
    testSite(`${title}: ${wanted.name}`, site, async ({ address }) => {
      const method = (wanted.raw ?? wanted.request!).split(' ')[0]
      const data = wanted.raw ?? toRequest(wanted.request!, wanted.headers, wanted.body)
      const [response] = await exchange(address, data, { method })
      assert(response !== undefined, 'the connection ended without a response')
      checkResponse(response, wanted)
    })
  }
}

/** Registers a test that needs the site. Connections of the server outlive a test, so they are not counted. */
export function testSite(
  name: string,
  site: () => Promise<Site>,
  run: (site: Site) => Promise<void>,
): void {
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn: async () => run(await site()) })
}

/** Compares a response with what was wanted; the body is shown when the status is another. */
export function checkResponse(response: RawResponse, wanted: Omit<Case, 'name'>): void {
  assertEquals(
    response.status,
    wanted.status,
    `status ${response.status}, body ${response.text.slice(0, 300)}`,
  )
  assert(response.complete, 'the transfer broke off')
  for (const [name, value] of Object.entries(wanted.has ?? {})) {
    const given = response.headers.get(name.toLowerCase())?.join(', ') ?? null
    if (value instanceof RegExp) assertMatch(given ?? '(absent)', value, `header ${name}`)
    else assertEquals(given, value, `header ${name}`)
  }
  if (wanted.text instanceof RegExp) assertMatch(response.text, wanted.text)
  else if (wanted.text !== undefined) assertEquals(response.text, wanted.text)
  if (wanted.json !== undefined) assertEquals(JSON.parse(response.text), wanted.json)
}
