import { type Cookie, setCookie } from '@std/http/cookie'
import { trimHeaderValue } from './header_text.ts'
import { appendPending, setPending } from './headers.ts'
import type { RequestState } from './state.ts'
import type { ContextSet, CookieOptions } from './types.ts'

/** Collects headers for `ctx.set`; see {@linkcode ContextSet}. */
export class ResponseWriter implements ContextSet {
  readonly #state: RequestState

  constructor(state: RequestState) {
    this.#state = state
  }

  header(name: string, value: string, options?: { append?: boolean }): ContextSet {
    const [[key, clean]] = [...new Headers({ [name]: trimHeaderValue(`${value}`) })] as [[string, string]]
    if (options?.append || key === 'set-cookie') appendPending(this.#state, key, clean)
    else setPending(this.#state, key, clean)
    return this
  }

  headers(headers: Readonly<Record<string, string>>): ContextSet {
    for (const [name, value] of Object.entries(headers)) this.header(name, value)
    return this
  }

  cookie(name: string, value: string | null, options: CookieOptions = {}): ContextSet {
    const headers = new Headers()
    const gone = value === null ? { expires: new Date(0), maxAge: 0 } : {}
    setCookie(headers, { path: '/', ...options, ...gone, name, value: value ?? '' } as Cookie)
    appendPending(this.#state, 'set-cookie', headers.get('set-cookie')!)
    return this
  }

  session(data: object | null): ContextSet {
    const { session } = this.#state
    if (session === null) {
      throw new TypeError(
        'Cannot set the session: no session middleware on this route, want router.use(session())',
      )
    }
    session.data = data
    session.changed = true
    return this
  }

  status(status: number): ContextSet {
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new RangeError(`Cannot set the status: ${status}, want an integer from 200 to 599`)
    }
    this.#state.status = status
    return this
  }
}
