import { ANY_METHOD } from '../match/methods.ts'
import type { LoadedRoute } from './load.ts'

/** One line of the route table. */
export interface RouteRow {
  /** A method, or `*` for a route that takes them all. */
  readonly method: string
  readonly pattern: string
  readonly file: string
  readonly isolated: boolean
}

/** One row for each method of each route, sorted by pattern, then method. */
export function routeRows(routes: readonly LoadedRoute[]): RouteRow[] {
  const rows = routes.flatMap(({ methods, mount, error, pattern, file, isolated }) => {
    const names: string[] = mount || error !== null ? [...methods, ANY_METHOD] : [...methods]
    return names.map((method) => ({ method, pattern, file, isolated }))
  })
  return rows.sort((a, b) => order(a.pattern, b.pattern) || order(a.method, b.method))
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
