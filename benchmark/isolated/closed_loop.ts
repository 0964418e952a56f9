/**
 * The load of the isolated rows, in a process of its own: each connection sends a request, waits for its answer, checks every
 * byte of the body and sends the next. Less work for the machine than autocannon, and latencies in microseconds. Arguments:
 * origin, route, connections, seconds. Prints one {@linkcode LoopResult} as JSON.
 */
import { ANSWERS } from '../answers.ts'
import { toTimes } from './samples.ts'

/** What one run found. Latencies are in microseconds. */
export interface LoopResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  /** Requests without an answer, or with a wrong one. */
  readonly failures: number
}

/** How hard to ask. */
export interface LoopOptions {
  readonly connections: number
  readonly seconds: number
  /** Seconds before those that count. */
  readonly warmUp: number
}

/** How long the last answers may take. */
const GRACE_MS = 30_000
const MOST = 4_000_000

/** Asks for `path` of the origin until the time is over; every answer must be 200 with exactly `body`. */
export async function runLoop(
  origin: URL,
  path: string,
  body: string,
  { connections, seconds, warmUp }: LoopOptions,
): Promise<LoopResult> {
  const request = new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: ${origin.host}\r\n\r\n`)
  const wanted = new TextEncoder().encode(body)
  const address = { hostname: origin.hostname, port: Number(origin.port), transport: 'tcp' } as const
  const clients = await Promise.all(Array.from({ length: connections }, async () => {
    const connection = await Deno.connect(address)
    connection.setNoDelay(true)
    return new Client(connection, request, wanted)
  }))
  const latencies: number[] = []
  let failures = 0
  const begin = performance.now() + warmUp * 1000
  const end = begin + seconds * 1000
  let last = begin
  const cut = setTimeout(
    () => clients.forEach((client) => client.close()),
    end + GRACE_MS - performance.now(),
  )
  await Promise.all(clients.map(async (client) => {
    for (;;) {
      const start = performance.now()
      if (start >= end || latencies.length >= MOST) return
      const right = await client.ask()
      const now = performance.now()
      if (start >= begin) {
        if (right) latencies.push((now - start) * 1000)
        else failures++
        last = Math.max(last, now)
      } else if (!right) failures++
      // A connection that broke asks no more: the failure is counted, and the run with it.
      if (client.isBroken) return
    }
  }))
  clearTimeout(cut)
  clients.forEach((client) => client.close())
  const requests = latencies.length
  return {
    requests,
    requestsPerSecond: requests === 0 ? 0 : requests / ((last - begin) / 1000),
    ...toTimes(Float64Array.from(latencies)),
    failures,
  }
}

/** One connection. */
class Client {
  readonly #connection: Deno.Conn
  readonly #request: Uint8Array
  readonly #wanted: Uint8Array
  readonly #buffer = new Uint8Array(64 << 10)
  /** Bytes of a whole response, as the first one had: only its date differs from the next. */
  #length = 0
  #closed = false
  isBroken = false

  constructor(connection: Deno.Conn, request: Uint8Array, wanted: Uint8Array) {
    this.#connection = connection
    this.#request = request
    this.#wanted = wanted
  }

  close(): void {
    if (!this.#closed) this.#connection.close()
    this.#closed = true
  }

  /** True for the right answer. */
  async ask(): Promise<boolean> {
    try {
      await this.#connection.write(this.#request)
      let have = 0
      for (;;) {
        const count = await this.#connection.read(this.#buffer.subarray(have))
        if (count === null) break
        have += count
        if (have === this.#length || have === this.#measure(have)) return this.#isRight(have)
        if (have === this.#buffer.length) break
      }
    } catch {
      // Counted like an answer that never comes: the caller learns how many.
    }
    this.isBroken = true
    return false
  }

  /** The length of the response that begins in the buffer; 0 while that is unknown. */
  #measure(have: number): number {
    const text = new TextDecoder('latin1').decode(this.#buffer.subarray(0, have))
    const end = text.indexOf('\r\n\r\n')
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))
    if (end === -1 || length === null) return 0
    return this.#length = end + 4 + Number(length[1])
  }

  #isRight(have: number): boolean {
    const buffer = this.#buffer
    const offset = have - this.#wanted.length
    // `HTTP/1.1 200`
    if (offset < 13 || buffer[9] !== 0x32 || buffer[10] !== 0x30 || buffer[11] !== 0x30) return false
    for (let i = 0; i < this.#wanted.length; i++) if (buffer[offset + i] !== this.#wanted[i]) return false
    return buffer[offset - 1] === 0x0a && buffer[offset - 2] === 0x0d
  }
}

if (import.meta.main) {
  const [origin, route, connections, seconds] = Deno.args
  const options = { connections: Number(connections), seconds: Number(seconds), warmUp: 0.3 }
  console.log(JSON.stringify(await runLoop(new URL(origin), route, ANSWERS[route].body, options)))
}
