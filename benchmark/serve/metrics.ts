/** What `mayfly serve --admin` tells of its machines. */

/** Totals since the start. */
export interface Totals {
  readonly requests: number
  /** Seconds in machines, and of their resets. */
  readonly run: number
  readonly reset: number
  readonly exits: number
  readonly pages: number
}

/** Reads the totals of a server. */
export async function readTotals(admin: string): Promise<Totals> {
  const status = await (await fetch(`${admin}/status`)).json()
  return {
    requests: status.requests_total?.answered ?? 0,
    run: status.run_seconds_total,
    reset: status.reset_seconds_total,
    exits: status.exits_total,
    pages: status.dirty_pages_total,
  }
}

/** What a request between two readings took on average: microseconds, exits and pages. */
export interface PerRequest {
  readonly runUs: number
  readonly resetUs: number
  readonly exits: number
  readonly pages: number
}

export function perRequest(before: Totals, after: Totals): PerRequest {
  const requests = after.requests - before.requests
  const of = (name: keyof Totals) => requests === 0 ? NaN : (after[name] - before[name]) / requests
  return { runUs: of('run') * 1e6, resetUs: of('reset') * 1e6, exits: of('exits'), pages: of('pages') }
}
