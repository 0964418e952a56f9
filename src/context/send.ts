import { toLocation } from './redirect.ts'
import type { RequestState } from './state.ts'
import { type StreamOwner, toByteStream, toEventStream } from './stream.ts'
import type { ContextSend, SseMessage } from './types.ts'

// Shared between responses and never changed: `new Response` copies them.
const JSON_INIT = { headers: { 'content-type': 'application/json' } }
const TEXT_INIT = { headers: { 'content-type': 'text/plain; charset=utf-8' } }
const HTML_INIT = { headers: { 'content-type': 'text/html; charset=utf-8' } }
const BYTES_INIT = { headers: { 'content-type': 'application/octet-stream' } }
const EVENTS_INIT = { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } }
const NONE_INIT = { headers: {} }

interface DefaultInit {
  readonly headers: Readonly<Record<string, string>>
}

/** Makes responses for `ctx.send`; see {@linkcode ContextSend}. */
export class ResponseSender implements ContextSend {
  readonly #state: RequestState

  constructor(state: RequestState) {
    this.#state = state
  }

  json(data: unknown, init?: ResponseInit): Response {
    const body = JSON.stringify(data)
    if (body === undefined) throw new TypeError(`Cannot send JSON: ${typeof data} has no JSON form`)
    return respond(this.#state, body, JSON_INIT, init)
  }

  text(text: string, init?: ResponseInit): Response {
    return respond(this.#state, text, TEXT_INIT, init)
  }

  html(html: string, init?: ResponseInit): Response {
    return respond(this.#state, html, HTML_INIT, init)
  }

  custom(body: BodyInit | null, init?: ResponseInit): Response {
    return respond(this.#state, body, NONE_INIT, init)
  }

  empty(status?: number): Response {
    return respond(this.#state, null, NONE_INIT, { status: status ?? (this.#state.status || 204) })
  }

  download(data: BodyInit, filename: string, init?: ResponseInit): Response {
    const response = respond(this.#state, data, BYTES_INIT, init)
    response.headers.set('content-disposition', toDisposition(filename))
    return response
  }

  file(path: string, init: ResponseInit & { filename?: string } = {}): Promise<Response> {
    return this.#state.host.sendFile(this.#state, path, init)
  }

  stream(
    source: ReadableStream<Uint8Array> | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
    init?: ResponseInit,
  ): Response {
    const body = source instanceof ReadableStream ? source : toByteStream(source, toOwner(this.#state))
    return respond(this.#state, body, BYTES_INIT, init)
  }

  redirect(target: string, status = 302): Response {
    const location = toLocation(target, this.#state.url, status)
    return respond(this.#state, null, NONE_INIT, { status, headers: { location } })
  }

  sse(
    source: AsyncIterable<SseMessage | string>,
    init: ResponseInit & { keepAliveMs?: number } = {},
  ): Response {
    const { keepAliveMs = 15_000, ...rest } = init
    return respond(
      this.#state,
      toEventStream(source, keepAliveMs, toOwner(this.#state)),
      EVENTS_INIT,
      rest,
    )
  }
}

/** Content-Disposition of a file to save, RFC 6266, with an ASCII fallback for the name. */
export function toDisposition(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\/%]/g, '_')
  const coded = encodeURIComponent(filename).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return plain === filename
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${coded}`
}

/** A response with the defaults of its kind, under what `ctx.set` collected, under `init`. */
export function respond(
  state: RequestState,
  body: BodyInit | null,
  defaults: DefaultInit,
  init: ResponseInit | undefined,
): Response {
  if (init === undefined && state.pending === null && state.status === 0 && state.method !== 'HEAD') {
    return new Response(body, defaults)
  }
  const headers = new Headers(defaults.headers)
  if (state.pending !== null) {
    for (const [name, value] of state.pending.single) headers.set(name, value)
  }
  if (init?.headers !== undefined) setAll(headers, new Headers(init.headers))
  const head = state.method === 'HEAD' && typeof body === 'string'
  if (head) headers.set('content-length', String(new TextEncoder().encode(body).length))
  const status = init?.status ?? (state.status || 200)
  const statusText = init?.statusText
  const more = statusText === undefined ? {} : { statusText }
  return new Response(head ? null : body, { status, headers, ...more })
}

function setAll(headers: Headers, from: Headers): void {
  for (const [name, value] of from) {
    if (name !== 'set-cookie') headers.set(name, value)
  }
  for (const cookie of from.getSetCookie()) headers.append('set-cookie', cookie)
}

function toOwner(state: RequestState): StreamOwner {
  const { host } = state
  return { open: host.streams, failed: (error) => host.streamFailed(state, error), awaitsEnd: state.isolated }
}
