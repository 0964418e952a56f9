import { ulid } from '@std/ulid'
import type { RequestMetadata } from '../events/kinds.ts'
import { clientAddress } from '../context/ip.ts'
import type { RequestState } from '../context/state.ts'

/** The metadata of `request:complete` and `request:error`: fields are computed when a listener reads them. */
export class LazyRequestMetadata implements RequestMetadata {
  readonly #state: RequestState
  readonly #response: Response
  readonly #start: number
  readonly #end: number
  readonly #withQuery: boolean

  constructor(state: RequestState, response: Response, start: number, end: number, withQuery: boolean) {
    this.#state = state
    this.#response = response
    this.#start = start
    this.#end = end
    this.#withQuery = withQuery
  }

  get id(): string {
    return this.#state.requestId ??= ulid()
  }

  get method(): string {
    return this.#state.method
  }

  get status(): number {
    return this.#response.status
  }

  get url(): string {
    const { url, pathname } = this.#state
    const query = url.indexOf('?')
    return this.#withQuery && query !== -1 ? pathname + url.slice(query) : pathname
  }

  get route(): string | undefined {
    return this.#state.route
  }

  get durationMs(): number {
    return this.#end - this.#start
  }

  get ip(): string | undefined {
    return clientAddress(this.#state, false)
  }

  get userAgent(): string | undefined {
    return this.#header('user-agent')
  }

  get requestSize(): number | undefined {
    const declared = this.#header('content-length')
    if (declared !== undefined) return Number(declared)
    return this.#header('transfer-encoding') === undefined ? 0 : undefined
  }

  get responseSize(): number | undefined {
    const declared = this.#response.headers.get('content-length')
    if (declared !== null) return Number(declared)
    return this.#response.body === null ? 0 : undefined
  }

  get isolated(): boolean {
    return this.#state.isolated
  }

  get error(): unknown {
    return this.#state.error
  }

  #header(name: string): string | undefined {
    return this.#state.request.headers.get(name) ?? undefined
  }
}
