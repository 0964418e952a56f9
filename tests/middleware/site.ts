import {
  type Context,
  type LifecycleEvent,
  type Middleware,
  Router,
  type RouterOptions,
} from '@mayfly/mayfly'
import { assert, assertEquals, assertThrows } from '@std/assert'
import { fromFileUrl } from '@std/path'

/** A router over the fixture with middleware around it, and what it told its listener. */
export interface Site {
  readonly router: Router
  readonly events: LifecycleEvent[]
  /** Asks in process. `ip` is the peer's address; null: there is none. */
  ask(path: string, init?: RequestInit & { ip?: string | null }): Promise<Response>
  /** The metadata of the one event of this kind. */
  only(kind: LifecycleEvent['kind']): Record<string, unknown>
}

export const SECRET = 'a secret of more than thirty-two characters'
export const OTHER_SECRET = 'one more secret of more than 32 characters'

/** Middleware from outside in; one that does not call `next` takes the place of a handler. */
export function makeSite(middleware: Middleware[], options: RouterOptions = {}): Site {
  const routesDir = fromFileUrl(new URL('./fixture/routes', import.meta.url))
  const router = new Router({ routesDir, hotReload: false, ...options })
  for (const one of middleware) router.use(one)
  const events: LifecycleEvent[] = []
  router.on((event) => {
    events.push(event)
  })
  return {
    router,
    events,
    ask: (path, { ip = '203.0.113.7', ...init } = {}) =>
      router.fetch(
        new Request(new URL(path, 'http://localhost'), init),
        ip === null ? undefined : { remoteAddr: { transport: 'tcp', hostname: ip, port: 4000 } },
      ),
    only: (kind) => {
      const found = events.filter((event) => event.kind === kind)
      assertEquals(found.length, 1, `events of ${kind}`)
      return found[0].metadata as unknown as Record<string, unknown>
    },
  }
}

/** Middleware that answers with what `give` makes of the context. */
export function answer(give: (ctx: Context) => unknown): Middleware {
  return async (ctx) => {
    const value = await give(ctx)
    return value instanceof Response ? value : ctx.send.json(value ?? null)
  }
}

/** Reads a response to its end and gives its status. */
export async function statusOf(response: Promise<Response> | Response): Promise<number> {
  const { status, body } = await response
  await body?.cancel()
  return status
}

/** The cookie that a response sets, as a request sends it; with `attributes` the whole line. */
export function cookieOf(response: Response, name: string, attributes = false): string {
  const line = response.headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`))
  assert(line !== undefined, `no cookie ${name} in ${response.headers.getSetCookie()}`)
  return attributes ? line : line.split(';', 1)[0]
}

/** Checks that options are refused when the middleware is made, with a message that holds every text of `texts`. */
export function assertRefused(
  make: () => unknown,
  Kind: typeof TypeError | typeof RangeError,
  ...texts: string[]
): void {
  const error = assertThrows(make, Kind)
  for (const text of texts) assert(error.message.includes(text), `${error.message} does not say ${text}`)
}
