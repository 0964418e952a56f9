/** What `deno task bench --isolated` times. */
import type { ServerName } from '../plan.ts'

/** One way to answer, and how hard it is asked. */
export interface Way {
  readonly name: string
  readonly route: string
  readonly server: ServerName
  /** Connections of each run, with one request at a time in each. */
  readonly connections: readonly number[]
}

/** A way through machines, on the server that keeps their times. */
function sampled(name: string, route: string, connections: readonly number[]): Way {
  return { name, route, server: 'mayfly-sampled', connections }
}

/** In the order of one round; `core` is the small runtime. What a figure compares lies close together. */
export const WAYS: readonly Way[] = [
  { name: 'plain handler', route: '/test', server: 'mayfly', connections: [1, 50] },
  sampled('isolated', '/test-isolated', [1, 50]),
  sampled('isolated, state kept', '/test-isolated-kept', [1, 50]),
  sampled('isolated Hono app', '/test-isolated-hono/hello', [1, 50]),
  { name: 'plain, 50 000 roots', route: '/test-cpu', server: 'mayfly', connections: [1, 50] },
  sampled('isolated, 50 000 roots', '/test-isolated-cpu', [1, 50]),
  sampled('core', '/test-isolated-core', [1, 50]),
  sampled('isolated, 10 KB of JSON', '/test-isolated-json', [50]),
  sampled('core, 10 KB of JSON', '/test-isolated-core-json', [50]),
  sampled('isolated, 50 rows rendered', '/test-isolated-render', [50]),
  sampled('core, 50 rows rendered', '/test-isolated-core-render', [50]),
  sampled('core, 50 000 roots', '/test-isolated-core-cpu', [1]),
  { name: 'fresh Deno Worker', route: '/test-fresh-worker', server: 'mayfly', connections: [1, 8] },
  { name: 'fresh deno process', route: '/test-fresh-process', server: 'mayfly', connections: [1, 2] },
]
