import { type GuestHead, readHeaders } from './head.ts'

/**
 * A request as far as the context needs it; the real one is made when the user asks for it, as it costs more than a small
 * handler does.
 */
export class LazyRequest {
  readonly method: string
  readonly url: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #head: GuestHead
  #headers: Headers | null = null
  #real: Request | null = null

  constructor(head: GuestHead, bytes: Uint8Array<ArrayBuffer>) {
    this.method = head.line[1]
    this.url = head.line[2]
    this.bytes = bytes
    this.#head = head
  }

  get headers(): Headers {
    return this.#headers ??= this.#real?.headers ?? new Headers(this.#pairs())
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

  #pairs(): [string, string][] {
    return readHeaders(this.#head) as [string, string][]
  }

  #make(): Request {
    const { method, bytes } = this
    const headers = this.#headers ?? this.#pairs()
    const bodiless = bytes.length === 0 || method === 'GET' || method === 'HEAD'
    return new Request(this.url, { method, headers, body: bodiless ? undefined : bytes })
  }
}
