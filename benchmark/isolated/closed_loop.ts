/**
 * The load of the isolated rows, in a process of its own: each connection sends a request, waits for its answer, checks every
 * byte of the body and sends the next. Less work for the machine than autocannon, and latencies in microseconds. Arguments:
 * origin, route, connections, seconds. Prints one {@linkcode LoopResult} as JSON. The sandbox's load uses the loop too.
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

/** Who asks, one thing at a time. */
export interface Asker {
  /** True for the right answer. */
  ask(): Promise<boolean>
  /** It can ask no more. */
  readonly isBroken: boolean
  close(): void
}

/** A request and the body of its answer. */
export interface Exchange {
  readonly request: Uint8Array<ArrayBuffer>
  readonly wanted: Uint8Array<ArrayBuffer>
}

/** Asks for `path` of the origin until the time is over; every answer must be 200 with exactly `body`. */
export async function runLoop(
  origin: URL,
  path: string,
  body: string,
  options: LoopOptions,
): Promise<LoopResult> {
  const exchange = {
    request: new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: ${origin.host}\r\n\r\n`),
    wanted: new TextEncoder().encode(body),
  }
  return await runExchanges(origin, () => exchange, options)
}

/** The same with what `next` gives for each request; the answers are equally long. */
export async function runExchanges(
  origin: URL,
  next: () => Exchange,
  { connections, ...times }: LoopOptions,
): Promise<LoopResult> {
  const address = { hostname: origin.hostname, port: Number(origin.port), transport: 'tcp' } as const
  const clients = await Promise.all(Array.from({ length: connections }, async () => {
    const connection = await Deno.connect(address)
    connection.setNoDelay(true)
    return new Client(connection, next)
  }))
  return await runAskers(clients, times)
}

/** Lets each ask again and again until the time is over. */
export async function runAskers(
  askers: readonly Asker[],
  { seconds, warmUp }: Omit<LoopOptions, 'connections'>,
): Promise<LoopResult> {
  const latencies: number[] = []
  let failures = 0
  const begin = performance.now() + warmUp * 1000
  const end = begin + seconds * 1000
  let last = begin
  const cut = setTimeout(
    () => askers.forEach((asker) => asker.close()),
    end + GRACE_MS - performance.now(),
  )
  await Promise.all(askers.map(async (asker) => {
    for (;;) {
      const start = performance.now()
      if (start >= end || latencies.length >= MOST) return
      const right = await asker.ask()
      const now = performance.now()
      if (start >= begin) {
        if (right) latencies.push((now - start) * 1000)
        else failures++
        last = Math.max(last, now)
      } else if (!right) failures++
      // A connection that broke asks no more: the failure is counted, and the run with it.
      if (asker.isBroken) return
    }
  }))
  clearTimeout(cut)
  askers.forEach((asker) => asker.close())
  const requests = latencies.length
  return {
    requests,
    requestsPerSecond: requests === 0 ? 0 : requests / ((last - begin) / 1000),
    ...toTimes(Float64Array.from(latencies)),
    failures,
  }
}

/** One connection. */
class Client implements Asker {
  readonly #connection: Deno.Conn
  readonly #next: () => Exchange
  readonly #buffer = new Uint8Array(64 << 10)
  /** Bytes of a whole response, as the first one had: only its date differs from the next. */
  #length = 0
  #closed = false
  isBroken = false

  constructor(connection: Deno.Conn, next: () => Exchange) {
    this.#connection = connection
    this.#next = next
  }

  close(): void {
    if (!this.#closed) this.#connection.close()
    this.#closed = true
  }

  async ask(): Promise<boolean> {
    const { request, wanted } = this.#next()
    try {
      for (let sent = 0; sent < request.length;) {
        sent += await this.#connection.write(request.subarray(sent))
      }
      let have = 0
      for (;;) {
        const count = await this.#connection.read(this.#buffer.subarray(have))
        if (count === null) break
        have += count
        if (have === this.#length || have === this.#measure(have)) return this.#isRight(have, wanted)
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

  #isRight(have: number, wanted: Uint8Array): boolean {
    const buffer = this.#buffer
    const offset = have - wanted.length
    // `HTTP/1.1 200`
    if (offset < 13 || buffer[9] !== 0x32 || buffer[10] !== 0x30 || buffer[11] !== 0x30) return false
    for (let i = 0; i < wanted.length; i++) if (buffer[offset + i] !== wanted[i]) return false
    return buffer[offset - 1] === 0x0a && buffer[offset - 2] === 0x0d
  }
}

if (import.meta.main) {
  const [origin, route, connections, seconds] = Deno.args
  const options = { connections: Number(connections), seconds: Number(seconds), warmUp: 0.3 }
  console.log(JSON.stringify(await runLoop(new URL(origin), route, ANSWERS[route].body, options)))
}
