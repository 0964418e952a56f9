import type { WarmupRequest } from '@mayfly/mayfly'

/** A request of the suite; it goes to the route of the handler's file. */
export interface Input {
  /** Default `GET`, or `POST` with a body. */
  readonly method?: string
  /** What follows the route's own path: `?name=Ann`, or `/users/1` of a mounted app. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** One of these is the body. */
  readonly json?: unknown
  readonly text?: string
  readonly form?: Readonly<Record<string, string>>
  /** Bytes. */
  readonly base64?: string
}

/** The request for the route of `name`. */
export function toRequest(name: string, input: Input): Request {
  const { method, body, headers } = toParts(input)
  return new Request(`http://localhost/${name}${input.path ?? ''}`, {
    method,
    body,
    headers,
  })
}

/** The entry of `warmup` that asks the same. */
export function toWarmup(name: string, input: Input): WarmupRequest {
  const { method, headers } = toRequest(name, input)
  const body = input.json ?? input.form ??
    (input.base64 === undefined ? input.text : { base64: input.base64 })
  return {
    method,
    path: `/${name}${input.path ?? ''}`,
    headers: Object.fromEntries(headers),
    ...(body === undefined ? {} : { body }),
  }
}

function toParts({ method, headers, json, text, form, base64 }: Input) {
  const body: BodyInit | undefined = json !== undefined
    ? JSON.stringify(json)
    : form !== undefined
    ? new URLSearchParams(form)
    : base64 !== undefined
    ? Uint8Array.fromBase64(base64)
    : text
  const type: Record<string, string> = json !== undefined
    ? { 'content-type': 'application/json' }
    : base64 !== undefined
    ? { 'content-type': 'application/octet-stream' }
    : {}
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    body,
    headers: { ...type, ...headers },
  }
}
