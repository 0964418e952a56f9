/** A bad argument is the caller's: the stack of the error begins at the call, so that Deno prints that line. */
import { assert, assertMatch, assertThrows } from '@std/assert'
import { cors, ip, Router, securityHeaders, validate } from '@mayfly/mayfly'

const HERE = import.meta.url.slice(import.meta.url.lastIndexOf('/') + 1)

const CALLS: Readonly<Record<string, () => unknown>> = {
  'an option': () => new Router({ maxBodyByte: 1 } as never),
  'a proxy': () => new Router({ trustProxy: ['nowhere'] }),
  'middleware': () => new Router().use('no-slash', () => {}),
  'a folder of files': () => new Router().static('no-slash', '.'),
  'an option of securityHeaders': () => securityHeaders({ contentSecurityPolicy: 7 } as never),
  'an option of cors': () => cors({ origins: '*' } as never),
  'an option of ip': () => ip({ allow: 7 } as never),
  'a schema': () => validate({ query: {} } as never),
  'an event': () => new Router().on('no:such' as never, () => {}),
}

for (const [what, call] of Object.entries(CALLS)) {
  Deno.test(`${what} that is wrong is the caller's`, () => {
    const error = assertThrows(call, Error)
    const [first] = error.stack!.split('\n').filter((line) => line.startsWith('    at '))
    assertMatch(first, new RegExp(`${HERE}:\\d+:\\d+`))
    assert(!error.stack!.includes('/src/'), error.stack)
  })
}
