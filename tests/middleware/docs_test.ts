import * as mayfly from '@mayfly/mayfly'
import * as middleware from '../../src/middleware/mod.ts'
import { assert, assertEquals, assertThrows } from '@std/assert'

const FACTORIES = Object.entries(middleware).filter(([, value]) => typeof value === 'function') as [
  string,
  (options: unknown) => unknown,
][]

function pageOf(name: string): Promise<string> {
  const file = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return Deno.readTextFile(new URL(`../../src/middleware/docs/${file}.md`, import.meta.url))
}

/** The option names that a middleware knows, by what it says to one that it does not. */
function optionsOf(factory: (options: unknown) => unknown): string[] {
  const { message } = assertThrows(() => factory({ noSuchOption: 1 }), TypeError)
  assert(message.includes('noSuchOption is no option, want one of '), message)
  return message.split('want one of ')[1].split(';')[0].split(', ')
}

Deno.test('the box holds the fourteen middleware of the contract, and mod.ts exports them', () => {
  assertEquals(FACTORIES.map(([name]) => name).sort(), [
    ...['basicAuth', 'bearerAuth', 'bodyLimit', 'compress', 'cors', 'csrf', 'ip', 'rateLimit', 'requestId'],
    ...['securityHeaders', 'serverTiming', 'session', 'validate', 'websocket'],
  ])
  for (const [name, factory] of FACTORIES) {
    assertEquals((mayfly as unknown as Record<string, unknown>)[name], factory, name)
  }
})

for (const [name, factory] of FACTORIES) {
  Deno.test(`${name} has a page with a table of exactly its options, an example and its events`, async () => {
    const page = await pageOf(name)
    const rows = [...page.matchAll(/^\| `(\w+)` *\|/gm)].map(([, option]) => option)
    assertEquals(rows.toSorted(), optionsOf(factory).toSorted())
    assert(page.startsWith(`# ${name}\n`))
    assert(page.includes("from '@mayfly/mayfly'"))
    assert(page.includes('**Events:**'))
  })
}
