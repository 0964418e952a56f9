/** The face of a request that handlers and middleware see. Host and guest implement the same one. */
import type { Validated, ValidateOptions } from './schema_types.ts'

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>

/** A route handler. */
export type Handler = (ctx: Context) => Awaitable<Response>

/** Runs the rest of the chain and gives the real response, which may be changed or replaced. */
export type Next = () => Promise<Response>

/** Onion middleware. Returning nothing after `await next()` passes the inner response on. */
export type Middleware = (ctx: Context, next: Next) => Awaitable<Response | void>

/** What an error hook and a `_error.ts` get. `error` is what was thrown, `status` the status it leads to. */
export interface Failure {
  readonly status: number
  readonly error: unknown
}

/** An error hook (`router.catch`) or the default export of `_error.ts`. Nothing returned: the next one outwards decides. */
export type ErrorHandler = (ctx: Context, failure: Failure) => Awaitable<Response | void>

/** Attributes of a cookie, RFC 6265bis. `maxAge` is in seconds. */
export interface CookieOptions {
  expires?: Date | number | undefined
  maxAge?: number | undefined
  domain?: string | undefined
  /** Default `/`. */
  path?: string | undefined
  secure?: boolean | undefined
  httpOnly?: boolean | undefined
  sameSite?: 'Strict' | 'Lax' | 'None' | undefined
  partitioned?: boolean | undefined
}

/** A field of a form: text or a file; a name that repeats gives an array. */
export type FormValue = FormDataEntryValue | FormDataEntryValue[]

/** Reads the request. Everything is computed on the first call. */
export interface ContextGet {
  /** The request's method, upper case; `HEAD` stays `HEAD` when `GET` answers it. */
  method(): string
  /** The whole URL. */
  url(): string
  /** The path, percent-encoded as it came, dot segments resolved. */
  pathname(): string
  request(): Request
  /** All headers by lower-case name, or one (case-insensitive). */
  header(): Record<string, string>
  header(name: string): string | undefined
  cookie(): Record<string, string>
  cookie(name: string): string | undefined
  /** The query's values, the last one of a name that repeats. The record has a null prototype. */
  query(): Record<string, string>
  query(name: string): string | undefined
  /** All values of one name, in order. */
  queries(name: string): string[]
  /** Route parameters, decoded once. The record has a null prototype. */
  param(): Readonly<Record<string, string>>
  param(name: string): string | undefined
  /** The body by its Content-Type: JSON, form (a record), text, else bytes. Undefined without a body. */
  body(): Promise<unknown>
  json<T = unknown>(): Promise<T>
  text(): Promise<string>
  formData(): Promise<FormData>
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  blob(): Promise<Blob>
  /**
   * The client's address. Behind trusted proxies (`trustProxy`) it is the nearest untrusted one of X-Forwarded-For;
   * `direct` asks for the peer of the socket. Undefined where there is no socket.
   */
  ip(options?: { direct?: boolean }): string | undefined
  /** The session's data, or null without one. Throws without the `session` middleware. */
  session<T extends object = Record<string, unknown>>(): T | null
  /** What the `validate` middleware accepted. Throws without it. */
  validated<T = unknown>(): T
  /**
   * The same, typed by the schemas that `validate` was given. Throws `TypeError` where one of them was not asked of this route; `body` and
   * `json` are not asked of GET, HEAD and OPTIONS.
   */
  validated<Schemas extends ValidateOptions>(schemas: Schemas): Validated<Schemas>
  /**
   * Aborted when the client goes away, when the request's time is over, and once the exchange has ended: Deno makes no
   * difference there unless it runs with `--unstable-no-legacy-abort`.
   */
  signal(): AbortSignal
}

/** Writes what every response of this request will carry. Each method gives itself, for chains. */
export interface ContextSet {
  /** Sets a header; `append` adds another value. An invalid name or value throws `TypeError`. */
  header(name: string, value: string, options?: { append?: boolean }): ContextSet
  headers(headers: Readonly<Record<string, string>>): ContextSet
  /** Sets a cookie; null deletes it. */
  cookie(name: string, value: string | null, options?: CookieOptions): ContextSet
  /** Replaces the session's data; null ends the session. Throws without the `session` middleware. */
  session(data: object | null): ContextSet
  /** The status of the next `ctx.send` that names none. */
  status(status: number): ContextSet
}

/** One server-sent event. */
export interface SseMessage {
  data?: unknown
  event?: string
  id?: string | number
  /** Milliseconds the client waits before it connects again. */
  retry?: number
  comment?: string
}

/** Makes responses. `init.headers` wins over `ctx.set.header`, which wins over the default. */
export interface ContextSend {
  json(data: unknown, init?: ResponseInit): Response
  text(text: string, init?: ResponseInit): Response
  html(html: string, init?: ResponseInit): Response
  custom(body: BodyInit | null, init?: ResponseInit): Response
  /** No body; default 204. */
  empty(status?: number): Response
  /** Data as a file to save. */
  download(data: BodyInit, filename: string, init?: ResponseInit): Response
  /** A file of the host, with type, ETag, ranges and 304. 404 when it is missing. */
  file(path: string, init?: ResponseInit & { filename?: string }): Promise<Response>
  /** A stream, from a ReadableStream or from an async iterable of text and bytes (closed when the client goes). */
  stream(
    source: ReadableStream<Uint8Array> | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
    init?: ResponseInit,
  ): Response
  /** Redirects: 301 302 303 307 308. A relative target stays on the origin; only http(s) is allowed. */
  redirect(target: string, status?: number): Response
  /** Server-sent events from an async iterable (closed when the client goes). A string is a message's data. */
  sse(source: AsyncIterable<SseMessage | string>, init?: ResponseInit & { keepAliveMs?: number }): Response
}

/** Options of `ctx.render`. `stream` sends the page while it renders. */
export interface RenderOptions {
  status?: number | undefined
  stream?: boolean | undefined
  headers?: HeadersInit | undefined
}

/** Options of `ctx.worker.run`. Times are in milliseconds. */
export interface WorkerRunOptions {
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  transfer?: Transferable[] | undefined
}

/** The worker pool's face in a handler. */
export interface WorkerFace {
  /** Runs one task in the pool. Rejects with an `HttpError`: 504 time over, 502 crash, 503 queue full. */
  run<T = unknown>(payload: unknown, options?: WorkerRunOptions): Promise<T>
}

/** A typed bag for one request: extend it by declaration merging. The named members come from middleware. */
export interface ContextState {
  /** `securityHeaders`: this response's CSP nonce. */
  nonce?: string
  /** `csrf`: the token that a form sends as `_csrf`. */
  csrfToken?: string
  /** `basicAuth`: who logged in. */
  username?: string
  /** `bearerAuth`: what its `verify` gave. */
  identity?: unknown
  /** `requestId`: the id of this request. */
  requestId?: string
  /** `serverTiming`: runs `work`, notes how long it took under `name` and gives its result. */
  measure?: <T>(name: string, work: () => T, description?: string) => T
  [key: string]: unknown
}

/** What the router was given as `isolate: { bindings }`, by name: type it by declaration merging. */
export interface ContextEnv {
  readonly [name: string]: unknown
}

/** One request and the answer in the making. */
export interface Context {
  readonly get: ContextGet
  readonly set: ContextSet
  readonly send: ContextSend
  readonly state: ContextState
  /** The router's bindings; in an isolated handler those that its file names. */
  readonly env: ContextEnv
  /** Undefined without a worker pool. */
  readonly worker: WorkerFace | undefined
  /** Renders a view. Needs `viewsDir`. */
  render(name: string, data?: Record<string, unknown>, options?: RenderOptions): Awaitable<Response>
  /** Ends the request with an error page. The message is shown to the client. */
  fail(status: number, message?: string): never
}
