/** Requests. https://fetch.spec.whatwg.org/#request-class */
import { AbortSignal, createSignal } from './abort.ts'
import type { Blob } from './blob.ts'
import {
  type BodyState,
  cloneBody,
  extractBody,
  isUnusable,
  isUsed,
  moveBody,
  readBlob,
  readBuffer,
  readForm,
  readJson,
  readOwnBytes,
  readText,
  toStream,
} from './body.ts'
import type { FormData } from './form_data.ts'
import { Headers } from './headers.ts'
import { refuse } from './missing.ts'
import type { ReadableStream } from './readable_stream.ts'
import { URL } from './url.ts'
import { expose, need, toByteText, toDictionary, toEnum, toText } from './webidl.ts'

/** What only a `fetch` would use, kept for whoever looks at it. */
const CHOICES = {
  redirect: ['follow', 'error', 'manual'],
  cache: ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'],
  credentials: ['omit', 'same-origin', 'include'],
  mode: ['same-origin', 'no-cors', 'cors'],
} as const
const DEFAULTS: Settings = { redirect: 'follow', cache: 'default', credentials: 'same-origin', mode: 'cors' }

type Settings = Readonly<Record<keyof typeof CHOICES, string>>

export class Request {
  #method = 'GET'
  #url: string
  #headers: Headers
  #settings = DEFAULTS
  /** Made when somebody asks for it: most requests are never aborted. */
  #signal: AbortSignal | null = null
  #body: BodyState | null = null

  constructor(input: unknown, init?: unknown) {
    need(arguments.length, 1, 'new Request')
    const from = input instanceof Request ? input : null
    this.#url = from === null ? new URL(toText(input)).href : from.#url
    const { method, headers, body, signal, ...rest } = readInit(init)
    this.#settings = toSettings(from === null ? DEFAULTS : from.#settings, rest)
    if (method !== undefined) this.#method = toMethod(method)
    else if (from !== null) this.#method = from.#method
    this.#headers = new Headers(headers === undefined && from !== null ? from.#headers : headers)
    if (signal === undefined) this.#signal = from === null ? null : AbortSignal.any([from.signal])
    else if (signal !== null) this.#signal = AbortSignal.any([signal])
    this.#setBody(from, body)
  }

  get method(): string {
    return this.#method
  }

  get url(): string {
    return this.#url
  }

  get headers(): Headers {
    return this.#headers
  }

  get redirect(): string {
    return this.#settings.redirect
  }

  get cache(): string {
    return this.#settings.cache
  }

  get credentials(): string {
    return this.#settings.credentials
  }

  get mode(): string {
    return this.#settings.mode
  }

  get integrity(): string {
    void this.#url
    return ''
  }

  get keepalive(): boolean {
    void this.#url
    return false
  }

  get referrer(): string {
    void this.#url
    return 'about:client'
  }

  get referrerPolicy(): string {
    void this.#url
    return ''
  }

  get signal(): AbortSignal {
    return this.#signal ??= createSignal()
  }

  clone(): Request {
    if (isUnusable(this.#body)) throw new TypeError('Cannot clone a request whose body was read')
    const copy = new Request(this.#url, { headers: this.#headers })
    copy.#method = this.#method
    copy.#settings = this.#settings
    copy.#signal = AbortSignal.any([this.signal])
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
    throw refuse('Request.textStream')
  }

  /** The body of `init`, or else that of the request that this one is made of, which has none then. */
  #setBody(from: Request | null, init: unknown): void {
    const given = init !== undefined && init !== null
    const source = from === null ? null : from.#body
    if ((given || source !== null) && (this.#method === 'GET' || this.#method === 'HEAD')) {
      throw new TypeError(`Cannot make a ${this.#method} request with a body`)
    }
    if (given) {
      const { body, type } = extractBody(init)
      this.#body = body
      if (type !== null && !this.#headers.has('content-type')) this.#headers.append('content-type', type)
      return
    }
    if (source === null) return
    if (isUnusable(source)) throw new TypeError('Cannot make a request of one whose body was read')
    this.#body = moveBody(source)
  }
}

expose(Request, 'Request')

interface Init {
  readonly method?: unknown
  readonly headers?: unknown
  readonly body?: unknown
  readonly signal?: unknown
  readonly redirect?: unknown
  readonly cache?: unknown
  readonly credentials?: unknown
  readonly mode?: unknown
}

/** Reads the members one by one: `init` may be a `Request` or another object with accessors. */
function readInit(init: unknown): Init {
  const { method, headers, body, signal, redirect, cache, credentials, mode } = toDictionary(
    init,
    'the init of a Request',
  )
  return { method, headers, body, signal, redirect, cache, credentials, mode }
}

function toSettings(base: Settings, given: Partial<Record<keyof Settings, unknown>>): Settings {
  let settings = base
  for (const key of Object.keys(CHOICES) as (keyof Settings)[]) {
    const value = given[key]
    if (value === undefined) continue
    // `new Request(url, request)` brings what a navigation has.
    settings = {
      ...settings,
      [key]: toEnum(value, CHOICES[key] as readonly string[], `the ${key} of a request`),
    }
  }
  return settings
}

const NORMALIZED: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

function toMethod(value: unknown): string {
  const method = toByteText(value, 'a method')
  const upper = method.toUpperCase()
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method) || FORBIDDEN.has(upper)) {
    throw new TypeError(`Cannot request with the method ${JSON.stringify(method)}`)
  }
  return NORMALIZED.has(upper) ? upper : method
}
