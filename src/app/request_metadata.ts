import { ulid } from '@std/ulid'
import type { RequestMetadata } from '../events/kinds.ts'
import { clientAddress } from '../context/ip.ts'
import type { RequestState } from '../context/state.ts'

/** The metadata of `request:complete` and `request:error`: fields are computed when a listener reads them. */
export class LazyRequestMetadata implements RequestMetadata {
  readonly #state: RequestState
  readonly #response: Response
  readonly #start: number
  #durationMs: number | undefined
  readonly #withQuery: boolean

  /** `start` is of `performance.now`. */
  constructor(state: RequestState, response: Response, start: number, withQuery: boolean) {
    this.#state = state
    this.#response = response
    this.#start = start
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
    return this.#durationMs ??= performance.now() - this.#start
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

  get tenant(): string | undefined {
    return this.#state.tenant
  }

  get isolated(): boolean {
    return this.#state.isolated
  }

  get error(): unknown {
    return this.#state.error
  }

  /** All fields, for loggers that take the whole. */
  toJSON(): Record<string, unknown> {
    const { id, method, status, url, route, durationMs, ip, userAgent, requestSize, responseSize, isolated } =
      this
    const fields = {
      id,
      method,
      status,
      url,
      route,
      durationMs,
      ip,
      userAgent,
      requestSize,
      responseSize,
      isolated,
    }
    return this.error === undefined ? fields : { ...fields, error: String(this.error) }
  }

  [Symbol.for('Deno.customInspect')](inspect: typeof Deno.inspect, options: Deno.InspectOptions): string {
    return inspect({ ...this.toJSON(), ...(this.error === undefined ? {} : { error: this.error }) }, options)
  }

  #header(name: string): string | undefined {
    return this.#state.request.headers.get(name) ?? undefined
  }
}
