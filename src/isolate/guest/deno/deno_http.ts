/**
 * Clients of `node:http` and `node:https` without a socket: their agents get a connection that reads what they write, fetches it through
 * the host, and gives them the answer as a server would write it.
 *
 * ```text
 * axios, got, node-fetch -> node:http -> Agent.createConnection -> HostConnection -> fetch -> host
 * ```
 */
import type { Duplex } from 'node:stream'
import { Buffer } from 'node:buffer'
import { MAX_WHOLE } from '../../../reach/calls/protocol.ts'
import { type ClientHead, HttpRequests } from '../../../reach/guest/http_requests.ts'

/** What an agent asks for a connection. */
interface ConnectOptions {
  readonly host?: string
  readonly hostname?: string
  readonly port?: number | string
  readonly socketPath?: string
}

type Agent = { prototype: { createConnection: (...args: unknown[]) => Duplex } }

/** Headers that are the connection's own. */
const OWN_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'expect',
])
/** Headers of an answer whose body travels on in another way. */
const OWN_ANSWER_HEADERS = new Set(['connection', 'content-length', 'transfer-encoding', 'keep-alive'])
const encode = (text: string) => Buffer.from(text, 'latin1')

let current: typeof fetch | undefined

/** Makes the agents of `node:http` and `node:https` ask `fetch` from now on. */
export function joinHttp(fetch: typeof globalThis.fetch): void {
  const isJoined = current !== undefined
  current = fetch
  if (isJoined) return
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): unknown } }
  const { Duplex } = process.getBuiltinModule('node:stream') as { Duplex: new () => Duplex }
  const HostConnection = makeConnection(Duplex)
  for (const scheme of ['http', 'https'] as const) {
    const { Agent } = process.getBuiltinModule(`node:${scheme}`) as { Agent: Agent }
    Agent.prototype.createConnection = (...args) => {
      // As `net.connect`: options, or a port, a host and options.
      const [port, host] = args
      const options = args.find((arg): arg is ConnectOptions => typeof arg === 'object' && arg !== null) ?? {}
      return new HostConnection(scheme, {
        ...options,
        ...(typeof port === 'object' ? {} : { port: port as number }),
        ...(typeof host === 'string' ? { host } : {}),
      })
    }
  }
}

function makeConnection(Stream: new () => Duplex) {
  return class HostConnection extends Stream {
    readonly connecting = false
    readonly pending = false
    readonly encrypted: boolean
    readonly authorized: boolean
    readonly #origin: string
    readonly #requests: HttpRequests
    /** Of the request that is under way. */
    #body: ReadableStreamDefaultController<Uint8Array> | Uint8Array[] | null = null
    #begin: (() => void) | null = null
    #abort = new AbortController()
    /** The client may write on. */
    #drained: (() => void) | null = null
    #resume: (() => void) | null = null
    #timer: ReturnType<typeof setTimeout> | undefined
    #timeoutMs = 0

    constructor(scheme: 'http' | 'https', { host, hostname, port, socketPath }: ConnectOptions) {
      super()
      this.encrypted = this.authorized = scheme === 'https'
      const name = host ?? hostname ?? 'localhost'
      this.#origin = `${scheme}://${name.includes(':') ? `[${name}]` : name}:${
        port ?? (this.encrypted ? 443 : 80)
      }`
      if (socketPath !== undefined && socketPath !== null) {
        queueMicrotask(() =>
          this.destroy(new TypeError(`Cannot connect to ${socketPath}: a machine has no sockets, want a URL`))
        )
      }
      this.#requests = new HttpRequests({
        head: (head) => this.#open(head),
        chunk: (bytes) => {
          if (Array.isArray(this.#body)) this.#body.push(bytes)
          else this.#body?.enqueue(bytes)
        },
        end: () => {
          if (!Array.isArray(this.#body)) this.#body?.close()
          this.#body = null
          const begin = this.#begin
          this.#begin = null
          begin?.()
        },
      })
    }

    override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
      this.#touch()
      try {
        this.#requests.push(chunk)
      } catch (error) {
        return done(error as Error)
      }
      const body = this.#body
      if (body === null || Array.isArray(body) || (body.desiredSize ?? 0) > 0) return done()
      this.#drained = done
    }

    override _final(done: () => void): void {
      done()
    }

    override _read(): void {
      const resume = this.#resume
      this.#resume = null
      resume?.()
    }

    override _destroy(error: Error | null, done: (error: Error | null) => void): void {
      clearTimeout(this.#timer)
      this.#abort.abort(error ?? new DOMException('The connection was closed', 'AbortError'))
      this.#resume?.()
      done(error)
    }

    setTimeout(ms: number, listener?: () => void): this {
      this.#timeoutMs = ms
      if (listener !== undefined) this.once('timeout', listener)
      this.#touch()
      return this
    }

    setNoDelay(): this {
      return this
    }

    setKeepAlive(): this {
      return this
    }

    ref(): this {
      return this
    }

    unref(): this {
      return this
    }

    address(): object {
      return {}
    }

    getPeerCertificate(): object {
      return {}
    }

    getSession(): undefined {
      return undefined
    }

    isSessionReused(): boolean {
      return false
    }

    /** Something went on: the timeout counts anew. */
    #touch(): void {
      clearTimeout(this.#timer)
      if (this.#timeoutMs > 0) this.#timer = setTimeout(() => this.emit('timeout'), this.#timeoutMs)
    }

    #open(head: ClientHead): void {
      const { method, headers, length } = head
      const has = (name: string) => headers.some(([other]) => other === name)
      if (has('upgrade') || method === 'CONNECT') {
        throw new TypeError(
          `Cannot upgrade a connection to ${this.#origin}: the host asks in place of the machine, want a request and its answer`,
        )
      }
      if (has('expect')) this.push(encode('HTTP/1.1 100 Continue\r\n\r\n'))
      const send = (body: BodyInit | null) => {
        this.#ask(head, body).catch((error) => this.destroy(error as Error))
      }
      if (length === 0) {
        this.#begin = () => send(null)
      } else if (length !== 'chunked' && length <= MAX_WHOLE) {
        const chunks: Uint8Array[] = []
        this.#body = chunks
        this.#begin = () => send(Buffer.concat(chunks))
      } else {
        send(
          new ReadableStream<Uint8Array>({
            start: (controller) => void (this.#body = controller),
            pull: () => {
              const drained = this.#drained
              this.#drained = null
              drained?.()
            },
          }),
        )
      }
    }

    /** Asks the host, and writes the answer as a server does. */
    async #ask({ method, target, headers }: ClientHead, body: BodyInit | null): Promise<void> {
      const response = await current!(target.startsWith('/') ? this.#origin + target : target, {
        method,
        headers: headers.filter(([name]) => !OWN_HEADERS.has(name)) as [string, string][],
        body,
        redirect: 'manual',
        signal: this.#abort.signal,
      })
      const { status, statusText } = response
      const isHead = method === 'HEAD' || status === 204 || status === 304
      const lines = [...response.headers]
        .filter(([name]) => isHead ? name !== 'connection' : !OWN_ANSWER_HEADERS.has(name))
        .map(([name, value]) => `${name}: ${value}\r\n`)
      if (!isHead) lines.push('transfer-encoding: chunked\r\n')
      await this.#put(encode(`HTTP/1.1 ${status} ${statusText}\r\n${lines.join('')}\r\n`))
      if (isHead) return
      for await (const chunk of response.body ?? []) {
        if (chunk.length === 0) continue
        await this.#put(Buffer.concat([encode(`${chunk.length.toString(16)}\r\n`), chunk, encode('\r\n')]))
      }
      await this.#put(encode('0\r\n\r\n'))
    }

    /** Resolves when the client wants more. */
    async #put(bytes: Uint8Array): Promise<void> {
      this.#touch()
      if (this.destroyed || this.push(bytes)) return
      await new Promise<void>((resume) => this.#resume = resume)
    }
  }
}
