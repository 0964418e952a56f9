import type { HeaderPairs } from '../message.ts'

/**
 * A request as far as the context needs it; the real one is made when the user asks for it, as it costs more than a small
 * handler does.
 */
export class LazyRequest {
  readonly method: string
  readonly url: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #pairs: HeaderPairs
  #headers: Headers | null = null
  #real: Request | null = null

  constructor(method: string, url: string, pairs: HeaderPairs, bytes: Uint8Array<ArrayBuffer>) {
    this.method = method
    this.url = url
    this.bytes = bytes
    this.#pairs = pairs
  }

  get headers(): Headers {
    return this.#headers ??= this.#real?.headers ?? new Headers(this.#pairs as [string, string][])
  }

  get body(): ReadableStream<Uint8Array> | null {
    return this.bytes.length === 0 ? null : this.real.body
  }

  get signal(): AbortSignal {
    return this.real.signal
  }

  get real(): Request {
    return this.#real ??= this.#make()
  }

  #make(): Request {
    const { method, bytes } = this
    const headers = this.#headers ?? this.#pairs as [string, string][]
    const bodiless = bytes.length === 0 || method === 'GET' || method === 'HEAD'
    return new Request(this.url, { method, headers, body: bodiless ? undefined : bytes })
  }
}
