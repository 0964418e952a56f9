/**
 * What a program fetches, done by the host.
 *
 * ```text
 * request -> policy -> client -> redirect? -> policy -> client ... -> decompressed, counted, without secrets -> program
 * ```
 */
import { AddressError, Client, type ClientOptions, type HopAnswer } from './client.ts'
import { ACCEPT_ENCODING, decode, toCodings } from './decode.ts'
import { findRefusal, type Policy, secretHeaders } from './policy.ts'
import { EchoError, Secrets } from './secrets.ts'

/** What a program asks for. */
export interface OutboundRequest {
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  /** Bytes can be sent again after a redirect, pieces cannot. */
  readonly body: AsyncIterable<Uint8Array> | Uint8Array | null
  readonly redirect: 'follow' | 'manual' | 'error'
  readonly signal: AbortSignal
}

/** What it gets. */
export interface OutboundResponse {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly url: string
  readonly redirected: boolean
  /** Pieces as they come; whoever reads none must cancel. */
  readonly body: AsyncIterable<Uint8Array>
  /** Ends the connection of a body that nobody reads on. */
  cancel(): void
}

/** A program may not, or a host did not. The words are for the program. */
export class OutboundError extends TypeError {
  override readonly name = 'TypeError'
}

/** What one request of a program has fetched so far. */
export interface OutboundUse {
  subRequests: number
  requestBytes: number
  responseBytes: number
}

/** Headers that are the connection's, or say where a request came from: the host's affair. */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|via|forwarded|http2-settings|accept-encoding|proxy-.*|x-forwarded-.*|x-real-ip|sec-.*)$/
/** Headers that are meant for one host. */
const CREDENTIALS = new Set(['authorization', 'cookie'])
/** Headers of a body. */
const BODY_HEADERS = new Set(['content-type', 'content-encoding', 'content-language', 'content-location'])
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const NULL_BODY = new Set([204, 205, 304])
/** What a connection's end is called. */
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name cannot be looked up now',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped',
  UND_ERR_SOCKET: 'the connection broke',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_RESPONSE_EXCEEDED_MAX_SIZE: 'the answer is too large',
}

/** Fetches for the programs of one policy. */
export class Outbound implements AsyncDisposable {
  readonly policy: Policy
  readonly #client: Client

  constructor(policy: Policy, options: ClientOptions = {}) {
    this.policy = policy
    this.#client = new Client(policy, options)
  }

  /** Fetches. `use` is counted up, and bounds what further requests may. Rejects with `OutboundError`, or with the signal's reason. */
  async fetch(request: OutboundRequest, use: OutboundUse): Promise<OutboundResponse> {
    const { signal } = request
    const secrets = new Secrets()
    let url = toUrl(request.url)
    let { method, body } = request
    let headers = request.headers.map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => !OWN_HEADERS.test(name))
    for (let redirects = 0;; redirects++) {
      const answer = await this.#hop(url, method, headers, body, signal, secrets, use)
      const location = answer.headers.find(([name]) => name === 'location')?.[1]
      if (!REDIRECTS.has(answer.status) || location === undefined || request.redirect === 'manual') {
        return this.#toResponse(answer, url, method, redirects > 0, secrets, use, signal)
      }
      answer.body.destroy()
      if (request.redirect === 'error') throw refuse(url, 'it redirects, and redirect is error')
      if (redirects >= this.policy.bounds.redirects) {
        throw refuse(url, `more than ${this.policy.bounds.redirects} redirects`)
      }
      // The program is told where an answer came from, and an error names what was asked.
      if (secrets.isIn(location) || secrets.isIn(unescapeUrl(location))) throw refuse(url, ECHOED)
      const next = toUrl(location, url)
      const becomesGet = answer.status === 303
        ? method !== 'GET' && method !== 'HEAD'
        : (answer.status === 301 || answer.status === 302) && method === 'POST'
      if (becomesGet) {
        method = 'GET'
        body = null
        headers = headers.filter(([name]) => !BODY_HEADERS.has(name))
      }
      if (body !== null && !(body instanceof Uint8Array)) {
        throw refuse(url, 'it redirects, and a body that is a stream cannot be sent again')
      }
      if (next.origin !== url.origin) headers = headers.filter(([name]) => !CREDENTIALS.has(name))
      url = next
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }

  /** Asks one host, once. */
  async #hop(
    url: URL,
    method: string,
    headers: readonly (readonly [string, string])[],
    body: OutboundRequest['body'],
    signal: AbortSignal,
    secrets: Secrets,
    use: OutboundUse,
  ): Promise<HopAnswer> {
    const { bounds } = this.policy
    const refusal = findRefusal(this.policy, url, method)
    if (refusal !== undefined) throw refuse(url, refusal)
    if (++use.subRequests > bounds.subRequests) {
      throw refuse(url, `more than ${bounds.subRequests} requests (subRequests)`)
    }
    let added: [string, string][]
    try {
      added = await secretHeaders(this.policy, url)
    } catch {
      // What the host's function threw may name the secret.
      throw refuse(url, 'the host has no headers for it now')
    }
    for (const [, value] of added) secrets.add(value)
    const own = new Set(added.map(([name]) => name))
    const sent = [
      ...headers.filter(([name]) => !own.has(name)),
      ...added,
      ['accept-encoding', ACCEPT_ENCODING] as const,
    ]
    try {
      return await this.#client.ask({
        url,
        method,
        headers: sent,
        body: countSent(url, body, use, bounds.requestBytes),
        signal,
      })
    } catch (error) {
      throw toOutboundError(url, error, signal)
    }
  }

  #toResponse(
    answer: HopAnswer,
    url: URL,
    method: string,
    redirected: boolean,
    secrets: Secrets,
    use: OutboundUse,
    signal: AbortSignal,
  ): OutboundResponse {
    const coding = answer.headers.filter(([name]) => name === 'content-encoding').map(([, value]) => value)
      .join()
    const hasBody = method !== 'HEAD' && !NULL_BODY.has(answer.status)
    const codings = hasBody ? toCodings(coding) : []
    if (codings === null) {
      answer.body.destroy()
      throw refuse(url, 'the answer has a compression that is not known')
    }
    const headers = answer.headers.filter(([name, value]) =>
      !OWN_RESPONSE_HEADERS.has(name) && !secrets.isIn(value) &&
      !(codings.length > 0 && (name === 'content-encoding' || name === 'content-length'))
    )
    const chunks = secrets.guard(decode(answer.body, codings))
    return {
      status: answer.status,
      headers,
      url: url.href,
      redirected,
      body: this.#received(url, chunks, answer, use, signal),
      cancel: () => void answer.body.destroy(),
    }
  }

  async *#received(
    url: URL,
    chunks: AsyncIterable<Uint8Array>,
    { body }: HopAnswer,
    use: OutboundUse,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const { responseBytes } = this.policy.bounds
    try {
      for await (const chunk of chunks) {
        use.responseBytes += chunk.length
        if (use.responseBytes > responseBytes) {
          throw refuse(url, `more than ${responseBytes} bytes (responseBytes)`)
        }
        yield chunk
      }
    } catch (error) {
      throw toOutboundError(url, error, signal)
    } finally {
      body.destroy()
    }
  }
}

const ECHOED = 'the answer tells what the host added to the request'

/** A URL without its escapes; as it is where they are none. */
function unescapeUrl(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Headers of an answer that are the connection's. */
const OWN_RESPONSE_HEADERS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'proxy-authenticate',
])

/** A URL that can be fetched: no other scheme, nobody's name and password. */
function toUrl(text: string, base?: URL): URL {
  let url: URL
  try {
    url = new URL(text, base)
  } catch {
    throw new OutboundError(
      `Cannot fetch ${JSON.stringify(text.slice(0, 200))}: it is no URL, want http: or https:`,
    )
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refuse(url, `its scheme is ${url.protocol}, want http: or https:`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse(url, 'it has a user name or password, want them in a header')
  }
  url.hash = ''
  return url
}

function countSent(
  url: URL,
  body: OutboundRequest['body'],
  use: OutboundUse,
  most: number,
): OutboundRequest['body'] {
  const count = (bytes: number) => {
    use.requestBytes += bytes
    if (use.requestBytes > most) throw refuse(url, `more than ${most} bytes sent (requestBytes)`)
  }
  if (body === null) return null
  if (body instanceof Uint8Array) {
    count(body.length)
    return body
  }
  return (async function* () {
    for await (const chunk of body) {
      count(chunk.length)
      yield chunk
    }
  })()
}

/** An error without addresses, paths of files, or anything that the host added. */
function toOutboundError(url: URL, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof OutboundError) return error
  if (error instanceof AddressError) return refuse(url, `the name leads to ${error.message}`)
  if (error instanceof EchoError) return refuse(url, ECHOED)
  const { code, errors, cause } = error as { code?: unknown; errors?: { code?: unknown }[]; cause?: unknown }
  if (cause instanceof OutboundError || cause instanceof AddressError) {
    return toOutboundError(url, cause, signal)
  }
  const name = String(code ?? errors?.[0]?.code ?? '')
  if (/CERT|TLS|SSL|SIGNATURE/.test(name)) {
    return refuse(url, `its certificate is not to be trusted (${name})`)
  }
  if (/^Z_|^ERR_.*(?:BROTLI|PADDING|MEM)/i.test(name)) return refuse(url, 'the answer cannot be decompressed')
  return refuse(url, CODES[name] ?? 'the request failed')
}

/** What may be said of a URL: no query, which may hold a secret of the program's. */
function refuse(url: URL, why: string): OutboundError {
  return new OutboundError(`Cannot fetch ${url.protocol}//${url.host}${url.pathname.slice(0, 200)}: ${why}`)
}
