/** An HTTP/1.1 client that sends the bytes it is given and reads what comes back byte by byte. */
import { joinBytes } from '../../src/context/join_bytes.ts'

/** Where a server listens. */
export type Address = { hostname: string; port: number } | { path: string }

/** A response as it came. */
export interface RawResponse {
  readonly status: number
  readonly reason: string
  /** All values by lower-case name, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: Uint8Array
  readonly text: string
  /** False when the connection ended before the body did. */
  readonly complete: boolean
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Milliseconds that any one read may take before the test fails. */
const PATIENCE_MS = 60_000

/** One connection. Close it with `using`. */
export class RawConnection {
  readonly #conn: Deno.Conn
  #buffer: Uint8Array = new Uint8Array(0)
  #ended = false
  #closed = false

  constructor(conn: Deno.Conn) {
    this.#conn = conn
  }

  /** Sends all of `data`; false when the server has closed its side and refuses it. */
  async write(data: string | Uint8Array): Promise<boolean> {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data
    try {
      for (let sent = 0; sent < bytes.length;) sent += await this.#conn.write(bytes.subarray(sent))
      return true
    } catch {
      return false
    }
  }

  /**
   * Reads one response, 1xx ones left out unless `interim`; undefined when the connection ends before one begins.
   * `method` is that of the request: the answer to HEAD has no body.
   */
  async read(method = 'GET', options: { interim?: boolean } = {}): Promise<RawResponse | undefined> {
    const head = await this.#until('\r\n\r\n')
    if (head === undefined) return undefined
    const { status, reason, headers } = parseHead(head)
    if (status >= 100 && status < 200 && status !== 101 && !options.interim) return this.read(method)
    const { body, complete } = await this.#readBody(method, status, headers)
    return { status, reason, headers, body, text: decoder.decode(body), complete }
  }

  /** Reads until `mark` has come and gives the text so far with it; undefined when the connection ends before. */
  async readText(mark: string): Promise<string | undefined> {
    const text = await this.#until(mark)
    return text === undefined ? undefined : text + mark
  }

  /** True when the server closes without sending anything more. */
  async isAtEnd(): Promise<boolean> {
    return this.#buffer.length === 0 && !(await this.#fill())
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      this.#conn.close()
    } catch {
      // The other side has been quicker.
    }
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #readBody(
    method: string,
    status: number,
    headers: RawResponse['headers'],
  ): Promise<{ body: Uint8Array; complete: boolean }> {
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
      return { body: new Uint8Array(0), complete: true }
    }
    if (headers.get('transfer-encoding')?.[0] === 'chunked') return await this.#readChunks()
    const length = headers.get('content-length')?.[0]
    if (length !== undefined) {
      const body = await this.#take(Number(length))
      return { body, complete: body.length === Number(length) }
    }
    while (await this.#fill());
    return { body: await this.#take(this.#buffer.length), complete: true }
  }

  async #readChunks(): Promise<{ body: Uint8Array; complete: boolean }> {
    const chunks: Uint8Array[] = []
    for (;;) {
      const line = await this.#until('\r\n')
      if (line === undefined) return { body: joinBytes(chunks), complete: false }
      const size = parseInt(line, 16)
      if (Number.isNaN(size)) {
        throw new SyntaxError(`Cannot read a chunk: its size is ${JSON.stringify(line)}`)
      }
      const chunk = await this.#take(size)
      chunks.push(chunk)
      const end = await this.#until('\r\n')
      if (chunk.length < size || end === undefined) return { body: joinBytes(chunks), complete: false }
      if (size === 0) return { body: joinBytes(chunks), complete: true }
    }
  }

  async #until(mark: string): Promise<string | undefined> {
    const wanted = encoder.encode(mark)
    for (;;) {
      const at = indexOf(this.#buffer, wanted)
      if (at !== -1) {
        const text = decoder.decode(this.#buffer.subarray(0, at))
        this.#buffer = this.#buffer.slice(at + wanted.length)
        return text
      }
      if (!(await this.#fill())) return undefined
    }
  }

  async #take(size: number): Promise<Uint8Array> {
    while (this.#buffer.length < size && await this.#fill());
    const taken = this.#buffer.slice(0, size)
    this.#buffer = this.#buffer.slice(size)
    return taken
  }

  async #fill(): Promise<boolean> {
    if (this.#ended) return false
    const chunk = new Uint8Array(65536)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const error = new Error(`Cannot read a response: nothing came for ${PATIENCE_MS} ms`)
      timer = setTimeout(() => reject(error), PATIENCE_MS)
    })
    try {
      const reading = this.#conn.read(chunk).catch(() => null)
      const size = await Promise.race([reading, late])
      if (size === null) this.#ended = true
      else this.#buffer = joinBytes([this.#buffer, chunk.subarray(0, size)])
    } finally {
      clearTimeout(timer)
    }
    return !this.#ended
  }
}

/** Opens a connection, over TLS when `caCerts` are given. */
export async function connect(
  address: Address,
  options: { caCerts?: string[]; alpnProtocols?: string[] } = {},
): Promise<RawConnection> {
  if ('path' in address) {
    return new RawConnection(await Deno.connect({ transport: 'unix', path: address.path }))
  }
  const { port } = address
  if (options.caCerts === undefined) {
    return new RawConnection(await Deno.connect({ hostname: '127.0.0.1', port }))
  }
  return new RawConnection(await Deno.connectTls({ hostname: 'localhost', port, ...options }))
}

/** Sends bytes on a connection of their own and reads `count` responses to them. */
export async function exchange(
  address: Address,
  data: string | Uint8Array,
  options: { method?: string; count?: number } = {},
): Promise<RawResponse[]> {
  using connection = await connect(address)
  await connection.write(data)
  const responses: RawResponse[] = []
  for (let i = 0; i < (options.count ?? 1); i++) {
    const response = await connection.read(options.method)
    if (response === undefined) break
    responses.push(response)
  }
  return responses
}

/** The bytes of a request; `Host`, `Connection: close` and the body's length are added unless given. */
export function toRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Uint8Array = '',
): Uint8Array {
  const payload = typeof body === 'string' ? encoder.encode(body) : body
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const all = Object.entries(headers)
  if (!names.has('host')) all.unshift(['Host', 'mayfly.test'])
  if (!names.has('connection')) all.push(['Connection', 'close'])
  const declares = names.has('content-length') || names.has('transfer-encoding')
  if (payload.length > 0 && !declares) all.push(['Content-Length', String(payload.length)])
  const head = `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return joinBytes([encoder.encode(head), payload])
}

/** A body as chunks of at most `size` bytes, in the chunked coding of RFC 9112, section 7.1. */
export function toChunked(body: string, size: number): string {
  let text = ''
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.slice(at, at + size)
    text += `${encoder.encode(chunk).length.toString(16)}\r\n${chunk}\r\n`
  }
  return `${text}0\r\n\r\n`
}

function parseHead(head: string): Pick<RawResponse, 'status' | 'reason' | 'headers'> {
  const [line, ...fields] = head.split('\r\n')
  const match = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(line)
  if (match === null) {
    throw new SyntaxError(`Cannot read a response: its first line is ${JSON.stringify(line)}`)
  }
  const headers = new Map<string, string[]>()
  for (const field of fields) {
    const colon = field.indexOf(':')
    const name = field.slice(0, colon).toLowerCase()
    headers.set(name, [...headers.get(name) ?? [], field.slice(colon + 1).trim()])
  }
  return { status: Number(match[1]), reason: match[2], headers }
}

function indexOf(bytes: Uint8Array, mark: Uint8Array): number {
  for (let at = bytes.indexOf(mark[0]); at !== -1; at = bytes.indexOf(mark[0], at + 1)) {
    if (mark.every((byte, index) => bytes[at + index] === byte)) return at
  }
  return -1
}
