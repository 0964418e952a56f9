/**
 * The load on a way, in a process of its own: requests over HTTP to a server that is named, or calls of a way that is opened here. Every
 * answer is checked. Arguments: the way's id, connections, seconds, and for HTTP the origin and the server's process. Prints
 * {@link LoadResult} as JSON.
 */
import {
  type Asker,
  type Exchange,
  type LoopResult,
  runAskers,
  runExchanges,
} from '../isolated/closed_loop.ts'
import { findWay, type SandboxWay } from './plan.ts'
import { residentBytes } from './memory.ts'
import { FIRST_NUMBER, toAnswer, toAsk } from './program.ts'
import { openRunner } from './runner.ts'

/** What one run found. */
export interface LoadResult extends LoopResult {
  /** Resident memory at the end of the process that answered, in bytes. */
  readonly residentBytes: number
}

/** Seconds before those that count. */
const WARM_UP = 1

/** Numbers of requests: always the same where the program stays, else each one new. */
export function numbers({ isWarm }: Pick<SandboxWay, 'isWarm'>): () => number {
  let number = FIRST_NUMBER
  return () => isWarm ? number : number++
}

/** Requests for a server, with the answers that they must have. */
export function exchanges(origin: URL, way: SandboxWay): () => Exchange {
  const next = numbers(way)
  const encoder = new TextEncoder()
  const path = way.id.startsWith('workerd-get') ? '/get' : '/'
  const head =
    `POST ${path} HTTP/1.1\r\nHost: ${origin.host}\r\nContent-Type: application/json\r\nContent-Length: `
  return () => {
    const number = next()
    const body = JSON.stringify(toAsk(number))
    return {
      request: encoder.encode(`${head}${body.length}\r\n\r\n${body}`),
      wanted: encoder.encode(toAnswer(number)),
    }
  }
}

/** Requests over HTTP, by so many connections. */
async function runRequests(
  way: SandboxWay,
  { origin, pid, ...options }: { origin: URL; pid: number; connections: number; seconds: number },
): Promise<LoadResult> {
  const result = await runExchanges(origin, exchanges(origin, way), { ...options, warmUp: WARM_UP })
  return { ...result, residentBytes: await residentBytes(pid) }
}

/** Calls of a way in this process, so many at the same time. */
async function runCalls(way: SandboxWay, connections: number, seconds: number): Promise<LoadResult> {
  const runner = await openRunner(way)
  const next = numbers(way)
  const asker: Asker = {
    async ask() {
      const number = next()
      return JSON.stringify(await runner.ask(toAsk(number))) === toAnswer(number)
    },
    isBroken: false,
    close() {},
  }
  try {
    const result = await runAskers(Array(connections).fill(asker), { seconds, warmUp: WARM_UP })
    return { ...result, residentBytes: await residentBytes(Deno.pid) }
  } finally {
    await runner.close()
  }
}

if (import.meta.main) {
  const [id, connectionsText, secondsText, origin, pid] = Deno.args
  const way = findWay(id)
  const [connections, seconds] = [Number(connectionsText), Number(secondsText)]
  const result = origin === undefined
    ? await runCalls(way, connections, seconds)
    : await runRequests(way, { origin: new URL(origin), pid: Number(pid), connections, seconds })
  console.log(JSON.stringify(result))
}
