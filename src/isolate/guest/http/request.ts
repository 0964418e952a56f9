/** A stand-in for `Request` that makes the real one only when it is needed. */
import type { HeaderPairs } from '../../wire/message.ts'
import { delegate } from './delegate.ts'
import { withFormBlob } from './form_body.ts'
import { type GuestHead, readHeaders } from './head.ts'
import { receiveRest } from '../reach.ts'

/**
 * Stands in for a `Request`: most handlers look at its method and URL, if at all, and a real one costs more than a small handler
 * does. It is a `Request` to `instanceof`; {@link installLazyRequest} makes its other members lead to a real one, and lets it
 * be given where a request is taken.
 */
export class LazyRequest {
  readonly #head: GuestHead
  #headers: Headers | null = null
  #real: Request | null = null
  /** The body was read here, not in the real request. */
  #used = false

  constructor(head: GuestHead) {
    this.#head = head
  }

  get method(): string {
    return this.#head.line[1]
  }

  get url(): string {
    return this.#head.line[2]
  }

  get headers(): Headers {
    return this.#headers ??= this.#real?.headers ?? toHeaders(readHeaders(this.#head))
  }

  get body(): ReadableStream<Uint8Array> | null {
    return this.#isEmpty() ? null : this.#make(true).body
  }

  async text(): Promise<string> {
    return this.#reads() ? decoder.decode(this.#head.body) : await this.#make().text()
  }

  async json(): Promise<unknown> {
    return this.#reads() ? JSON.parse(decoder.decode(this.#head.body)) : await this.#make().json()
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#reads() ? this.#head.body.slice() : await this.#make().bytes()
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#reads() ? this.#head.body.slice().buffer : await this.#make().arrayBuffer()
  }

  /** Whether the body is read here: nobody has seen the real request, and the body is there. */
  #reads(): boolean {
    if (this.#real !== null || this.#used || this.#head.hasRest || this.#isBodiless()) return false
    return this.#used = true
  }

  #isEmpty(): boolean {
    return this.#head.body.length === 0 && !this.#head.hasRest
  }

  #isBodiless(): boolean {
    const { method } = this
    return this.#isEmpty() || method === 'GET' || method === 'HEAD'
  }

  /** The real request behind one, with the headers that it has now; anything else is given back. */
  static real<T>(value: T): T | Request {
    if (typeof value !== 'object' || value === null || !(#real in value)) return value
    const real = value.#make()
    const headers = value.#headers
    if (headers !== null && headers !== real.headers) copyHeaders(headers, real.headers)
    return real
  }

  /** `streams`: the body as a stream of bytes, as `Deno.serve` has one; otherwise one that is there may be quicker. */
  #make(streams = false): Request {
    if (this.#real !== null) return this.#real
    const { method, url } = this
    // Headers that somebody took are copied when they matter: they may change until then.
    const headers = this.#headers === null ? readHeaders(this.#head) as [string, string][] : undefined
    const body = this.#isBodiless() ? undefined : this.#content(streams)
    const real = this.#real = new NativeRequest(url, { method, headers, body })
    // Read, so that it refuses to be read again.
    if (this.#used) real.text().catch(() => {})
    return real
  }

  #content(streams: boolean): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> {
    const { body, hasRest } = this.#head
    if (hasRest) return receiveRest(body)
    return streams ? new Blob([body]).stream() : body
  }
}

const NativeRequest = Request
const decoder = new TextDecoder()

/** Headers of pairs; `new Headers(pairs)` takes twice as long. */
function toHeaders(pairs: HeaderPairs): Headers {
  const headers = new Headers()
  for (const [name, value] of pairs) headers.append(name, value)
  return headers
}

function copyHeaders(from: Headers, to: Headers): void {
  for (const name of [...to.keys()]) to.delete(name)
  from.forEach((value, name) => to.append(name, value))
}

/** Makes {@link LazyRequest} stand in for `Request` where a handler uses one, and where it gives one to `Request` or `fetch`. */
export function installLazyRequest(): void {
  delegate(LazyRequest.prototype, Request.prototype, LazyRequest.real)
  const constructor = new Proxy(NativeRequest, {
    construct: (target, args, newTarget) => Reflect.construct(target, withReal(args), newTarget),
  })
  Object.defineProperty(NativeRequest.prototype, 'constructor', { value: constructor })
  Object.defineProperty(globalThis, 'Request', { value: constructor })
  const fetch = new Proxy(globalThis.fetch, {
    apply: (target, self, args) => Reflect.apply(target, self, withReal(args)),
  })
  Object.defineProperty(globalThis, 'fetch', { value: fetch })
}

/** Arguments whose first may be a {@link LazyRequest}, and the body of whose second a form. */
function withReal(args: unknown[]): unknown[] {
  return args.length === 0 ? args : [LazyRequest.real(args[0]), withFormBlob(args[1]), ...args.slice(2)]
}
