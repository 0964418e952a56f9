/**
 * The load, in a process of its own: autocannon with 500 connections and 10 requests in each. Arguments: URL, seconds of
 * warm-up, seconds that count, and other numbers of connections and of requests in each. Prints one {@linkcode Load} as JSON.
 */
// @ts-types="./autocannon.d.ts"
import autocannon from 'autocannon'

/** What one run found. Latencies are in milliseconds. */
export interface Load {
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  /** Requests without an answer, or with one that is not 2xx. */
  readonly failures: number
}

async function measure(
  url: string,
  duration: number,
  connections: number,
  pipelining: number,
): Promise<Load> {
  const result = await autocannon({ url, connections, pipelining, duration })
  const { errors, timeouts, non2xx, requests, latency } = result
  return {
    requestsPerSecond: requests.total / result.duration,
    p50: latency.p50,
    p99: latency.p99,
    failures: errors + timeouts + non2xx,
  }
}

if (import.meta.main) {
  const [url, warmUp, duration, connections = '500', pipelining = '10'] = Deno.args
  const ask = (seconds: string) => measure(url!, Number(seconds), Number(connections), Number(pipelining))
  await ask(warmUp!)
  console.log(JSON.stringify(await ask(duration!)))
}
