import { HttpError } from '../errors/http_error.ts'
import { readBody, readBytes, readForm, readJson, readText } from './body.ts'
import { parseCookies } from './cookies.ts'
import { clientAddress } from './ip.ts'
import { countUpTo, MAX_COOKIES, MAX_QUERY_PARAMETERS } from './limits.ts'
import type { Validated, ValidateOptions } from './schema_types.ts'
import type { RequestState } from './state.ts'
import type { ContextGet } from './types.ts'

/** Reads a request for `ctx.get`; see {@linkcode ContextGet}. */
export class RequestReader implements ContextGet {
  readonly #state: RequestState

  constructor(state: RequestState) {
    this.#state = state
  }

  method(): string {
    return this.#state.method
  }

  url(): string {
    return this.#state.url
  }

  pathname(): string {
    return this.#state.pathname
  }

  request(): Request {
    return this.#state.request
  }

  header(): Record<string, string>
  header(name: string): string | undefined
  header(name?: string): Record<string, string> | string | undefined {
    const { headers } = this.#state.request
    if (name !== undefined) return headers.get(name) ?? undefined
    return Object.assign(Object.create(null), Object.fromEntries(headers))
  }

  cookie(): Record<string, string>
  cookie(name: string): string | undefined
  cookie(name?: string): Record<string, string> | string | undefined {
    const state = this.#state
    state.cookies ??= readCookies(state)
    return name === undefined ? Object.assign(Object.create(null), state.cookies) : state.cookies[name]
  }

  query(): Record<string, string>
  query(name: string): string | undefined
  query(name?: string): Record<string, string> | string | undefined {
    const search = this.#search()
    if (name !== undefined) return search.getAll(name).at(-1)
    return Object.assign(Object.create(null), Object.fromEntries(search))
  }

  queries(name: string): string[] {
    return this.#search().getAll(name)
  }

  param(): Readonly<Record<string, string>>
  param(name: string): string | undefined
  param(name?: string): Readonly<Record<string, string>> | string | undefined {
    return name === undefined ? this.#state.params : this.#state.params[name]
  }

  body(): Promise<unknown> {
    return readBody(this.#state)
  }

  json<T = unknown>(): Promise<T> {
    return readJson(this.#state) as Promise<T>
  }

  text(): Promise<string> {
    return readText(this.#state)
  }

  formData(): Promise<FormData> {
    return readForm(this.#state)
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return (await readBytes(this.#state)).slice()
  }

  async blob(): Promise<Blob> {
    const type = this.#state.request.headers.get('content-type') ?? ''
    return new Blob([await readBytes(this.#state)], { type })
  }

  ip(options?: { direct?: boolean }): string | undefined {
    return clientAddress(this.#state, options?.direct === true)
  }

  session<T extends object = Record<string, unknown>>(): T | null {
    const { session } = this.#state
    if (session === null) {
      throw new TypeError(
        'Cannot read the session: no session middleware on this route, want router.use(session())',
      )
    }
    return session.data as T | null
  }

  validated<T = unknown>(): T
  validated<Schemas extends ValidateOptions>(schemas: Schemas): Validated<Schemas>
  validated(schemas: ValidateOptions = {}): unknown {
    const { validated } = this.#state
    if (validated === null) {
      throw new TypeError('Cannot read validated input: no validate middleware on this route')
    }
    const { value } = validated
    const missing = Object.keys(schemas).find((source) => !Object.hasOwn(Object(value), source))
    if (missing === undefined) return value
    throw new TypeError(
      `Cannot read validated input: ${missing} was not validated for ${this.#state.method} on this route, want validate({ ${missing} })`,
    )
  }

  signal(): AbortSignal {
    const state = this.#state
    state.abort ??= new AbortController()
    return AbortSignal.any([state.request.signal, state.abort.signal])
  }

  #search(): URLSearchParams {
    const state = this.#state
    if (state.search === null) {
      const start = state.url.indexOf('?')
      const end = state.url.indexOf('#')
      const query = start === -1 ? '' : state.url.slice(start + 1, end === -1 ? undefined : end)
      if (countUpTo(MAX_QUERY_PARAMETERS, query, '&') >= MAX_QUERY_PARAMETERS) {
        throw new HttpError(414, `The query has more than ${MAX_QUERY_PARAMETERS} parameters`)
      }
      state.search = new URLSearchParams(query)
    }
    return state.search
  }
}

function readCookies({ request }: RequestState): Record<string, string> {
  const header = request.headers.get('cookie')
  if (header !== null && countUpTo(MAX_COOKIES, header, ';') >= MAX_COOKIES) {
    throw new HttpError(431, `The request has more than ${MAX_COOKIES} cookies`)
  }
  return parseCookies(header)
}
