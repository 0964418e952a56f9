/** Requests of HTTP/1.1 as a client in a machine writes them on its connection. */

/** A request's head. */
export interface ClientHead {
  readonly method: string
  /** As it stands in the first line. */
  readonly target: string
  /** In their order; names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Bytes of the body: none, so many, or as many as come in chunks. */
  readonly length: number | 'chunked'
}

/** Hears what is read. */
export interface RequestEar {
  head(head: ClientHead): void
  chunk(bytes: Uint8Array<ArrayBuffer>): void
  end(): void
}

/** Bytes of a head, and of a line between chunks. */
const MAX_HEAD = 1 << 16
const MAX_LINE = 1 << 10
const NEW_LINE = 10
const latin1 = new TextDecoder('latin1')

/** Reads them, one after the other, however they are cut. */
export class HttpRequests {
  readonly #ear: RequestEar
  #state: 'head' | 'body' | 'size' | 'chunk' | 'gap' | 'trailer' = 'head'
  /** What is left of a body or a chunk. */
  #left = 0
  #line = ''

  constructor(ear: RequestEar) {
    this.#ear = ear
  }

  /** Takes bytes. Throws `TypeError` for what is no HTTP/1.1. */
  push(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#state !== 'body' && this.#state !== 'chunk') {
        const end = bytes.indexOf(NEW_LINE, at)
        const stop = end < 0 ? bytes.length : end + 1
        this.#line += latin1.decode(bytes.subarray(at, stop))
        at = stop
        if (this.#line.length > (this.#state === 'head' ? MAX_HEAD : MAX_LINE)) {
          throw new TypeError('Cannot send a request: its head is too large')
        }
        if (end >= 0) this.#readLine()
        continue
      }
      const part = new Uint8Array(bytes.subarray(at, at + this.#left))
      at += part.length
      this.#left -= part.length
      this.#ear.chunk(part)
      if (this.#left > 0) continue
      if (this.#state === 'chunk') this.#state = 'gap'
      else this.#finish()
    }
  }

  /** A line has ended; lines of a head gather until the empty one. */
  #readLine(): void {
    const line = this.#line
    switch (this.#state) {
      case 'head':
        // Empty lines in front of a request are nothing.
        if (line === '\r\n') this.#line = ''
        else if (line.endsWith('\r\n\r\n')) this.#begin(line)
        return
      case 'size': {
        const [, size] = /^([\da-f]{1,8})\s*(?:;.*)?\r\n$/i.exec(line) ?? []
        if (size === undefined) throw new TypeError('Cannot send a request: a chunk has no size')
        this.#left = parseInt(size, 16)
        this.#state = this.#left === 0 ? 'trailer' : 'chunk'
        break
      }
      case 'gap':
        this.#state = 'size'
        break
      case 'trailer':
        if (line === '\r\n') this.#finish()
    }
    this.#line = ''
  }

  #begin(text: string): void {
    this.#line = ''
    const [first, ...lines] = text.slice(0, -4).split('\r\n')
    const [, method, target] = /^(\S+) (\S+) HTTP\/1\.[01]$/.exec(first!) ?? []
    if (method === undefined) throw new TypeError('Cannot send a request: its first line is none of HTTP/1.1')
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      if (colon < 1) throw new TypeError('Cannot send a request: a header has no name')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
    const valueOf = (name: string) => headers.find(([other]) => other === name)?.[1]
    const isChunked = /\bchunked$/i.test(valueOf('transfer-encoding') ?? '')
    const length = isChunked ? 'chunked' : Number(valueOf('content-length') ?? 0)
    if (length !== 'chunked' && !(Number.isSafeInteger(length) && length >= 0)) {
      throw new TypeError('Cannot send a request: its content-length is none')
    }
    this.#left = isChunked ? 0 : length as number
    this.#state = isChunked ? 'size' : 'body'
    this.#ear.head({ method, target: target!, headers, length })
    if (!isChunked && this.#left === 0) this.#finish()
  }

  #finish(): void {
    this.#state = 'head'
    this.#line = ''
    this.#ear.end()
  }
}
