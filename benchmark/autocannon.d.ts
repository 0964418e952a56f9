/** The part of autocannon that load.ts uses. */
export interface Result {
  /** Seconds. */
  duration: number
  errors: number
  timeouts: number
  non2xx: number
  requests: { total: number }
  /** Milliseconds. */
  latency: { p50: number; p99: number }
}
export default function autocannon(options: {
  url: string
  connections: number
  pipelining: number
  duration: number
}): Promise<Result>
