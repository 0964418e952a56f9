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

/** In the order of one round. What a figure compares lies close together. */
export const WAYS: readonly Way[] = [
  { name: 'plain handler', route: '/test', server: 'mayfly', connections: [1, 50] },
  { name: 'isolated', route: '/test-isolated', server: 'mayfly-sampled', connections: [1, 50] },
  {
    name: 'isolated, state kept',
    route: '/test-isolated-kept',
    server: 'mayfly-sampled',
    connections: [1, 50],
  },
  {
    name: 'isolated Hono app',
    route: '/test-isolated-hono/hello',
    server: 'mayfly-sampled',
    connections: [1, 50],
  },
  { name: 'plain, 50 000 roots', route: '/test-cpu', server: 'mayfly', connections: [1, 50] },
  {
    name: 'isolated, 50 000 roots',
    route: '/test-isolated-cpu',
    server: 'mayfly-sampled',
    connections: [1, 50],
  },
  { name: 'fresh Deno Worker', route: '/test-fresh-worker', server: 'mayfly', connections: [1, 8] },
  { name: 'fresh deno process', route: '/test-fresh-process', server: 'mayfly', connections: [1, 2] },
]
