/** Responses. https://fetch.spec.whatwg.org/#response-class */
import {
  type BodyState,
  cloneBody,
  extractBody,
  type Extracted,
  isUnusable,
  isUsed,
  readBlob,
  readBuffer,
  readForm,
  readJson,
  readOwnBytes,
  readText,
  toStream,
} from './body.ts'
import type { Blob } from './blob.ts'
import type { FormData } from './form_data.ts'
import { freezeHeaders, Headers } from './headers.ts'
import { refuse } from './missing.ts'
import type { ReadableStream } from './readable_stream.ts'
import { URL } from './url.ts'
import { expose, need, toByteText, toDictionary, toUint16 } from './webidl.ts'

const NO_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export class Response {
  #status = 200
  #statusText = ''
  #type = 'default'
  #headers: Headers
  #body: BodyState | null = null

  constructor(body?: unknown, init?: unknown) {
    if (init !== undefined) {
      const { status, statusText, headers } = toDictionary(init, 'the init of a Response')
      this.#headers = new Headers(headers)
      if (status !== undefined) this.#status = toStatus(status)
      if (statusText !== undefined && statusText !== '') this.#statusText = toReason(statusText)
    } else this.#headers = new Headers()
    if (body !== undefined && body !== null) this.#setBody(extractBody(body))
  }

  static error(): Response {
    const response = new Response()
    response.#type = 'error'
    response.#status = 0
    freezeHeaders(response.#headers)
    return response
  }

  static redirect(url: unknown, status: unknown = 302): Response {
    need(arguments.length, 1, 'Response.redirect')
    const location = new URL(url).href
    const code = toUint16(status)
    if (!REDIRECTS.has(code)) throw new RangeError(`Cannot redirect with status ${code}`)
    const response = new Response(null, { status: code, headers: [['location', location]] })
    freezeHeaders(response.#headers)
    return response
  }

  static json(data: unknown, init?: unknown): Response {
    need(arguments.length, 1, 'Response.json')
    const text = JSON.stringify(data)
    if (text === undefined) throw new TypeError(`Cannot respond with JSON: ${typeof data} has no JSON form`)
    const response = new Response(null, init)
    response.#setBody({ ...extractBody(text), type: 'application/json' })
    return response
  }

  get type(): string {
    return this.#type
  }

  get url(): string {
    void this.#type
    return ''
  }

  get redirected(): boolean {
    void this.#type
    return false
  }

  get status(): number {
    return this.#status
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299
  }

  get statusText(): string {
    return this.#statusText
  }

  get headers(): Headers {
    return this.#headers
  }

  clone(): Response {
    if (isUnusable(this.#body)) throw new TypeError('Cannot clone a response whose body was read')
    const copy = new Response()
    copy.#type = this.#type
    copy.#status = this.#status
    copy.#statusText = this.#statusText
    copy.#headers = new Headers(this.#headers)
    copy.#body = this.#body === null ? null : cloneBody(this.#body)
    return copy
  }

  get body(): ReadableStream | null {
    return this.#body === null ? null : toStream(this.#body)
  }

  get bodyUsed(): boolean {
    return isUsed(this.#body)
  }

  // deno-lint-ignore require-await
  async arrayBuffer(): Promise<ArrayBuffer> {
    return readBuffer(this.#body)
  }

  // deno-lint-ignore require-await
  async blob(): Promise<Blob> {
    return readBlob(this.#body, this.#headers.get('content-type'))
  }

  // deno-lint-ignore require-await
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return readOwnBytes(this.#body)
  }

  // deno-lint-ignore require-await
  async formData(): Promise<FormData> {
    return readForm(this.#body, this.#headers.get('content-type'))
  }

  // deno-lint-ignore require-await
  async json(): Promise<unknown> {
    return readJson(this.#body)
  }

  // deno-lint-ignore require-await
  async text(): Promise<string> {
    return readText(this.#body)
  }

  textStream(): never {
    throw refuse('Response.textStream')
  }

  #setBody({ body, type }: Extracted): void {
    if (NO_BODY.has(this.#status)) {
      throw new TypeError(`Cannot respond with status ${this.#status} and a body`)
    }
    this.#body = body
    if (type !== null && !this.#headers.has('content-type')) this.#headers.append('content-type', type)
  }
}

expose(Response, 'Response')

/** 101 is over the standard's range; Deno takes it. */
function toStatus(value: unknown): number {
  const status = toUint16(value)
  if (status === 101 || (status >= 200 && status <= 599)) return status
  throw new RangeError(`Cannot respond with status ${status}: want 200 to 599`)
}

/** The reason-phrase of RFC 9112, section 4. */
function toReason(value: unknown): string {
  const text = toByteText(value, 'a status text')
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text
  throw new TypeError(`Cannot use ${JSON.stringify(text)} as a status text`)
}
