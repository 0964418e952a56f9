/** Which servers are measured on which routes. */

/** A server of this folder. */
export type ServerName =
  | 'bare'
  | 'mayfly'
  | 'hono'
  | 'mayfly-log'
  | 'mayfly-worker'
  | 'mayfly-isolated'
  | 'mayfly-sampled'

/** The module of each server. */
export const SERVERS: Readonly<Record<ServerName, string>> = {
  bare: 'peers/bare.ts',
  mayfly: 'main.ts',
  hono: 'peers/hono.ts',
  'mayfly-log': 'main-log.ts',
  'mayfly-worker': 'main-worker.ts',
  'mayfly-isolated': 'main-isolated.ts',
  'mayfly-sampled': 'main-sampled.ts',
}

/** What is timed together, so that both sides of a ratio run under the same conditions. */
export interface Group {
  readonly route: string
  readonly servers: readonly ServerName[]
}

/** The groups in the order of one round. */
export const GROUPS: readonly Group[] = [
  { route: '/test', servers: ['bare', 'mayfly', 'hono', 'mayfly-log'] },
  { route: '/test-cpu', servers: ['bare', 'mayfly', 'hono'] },
  { route: '/test-worker', servers: ['mayfly-worker'] },
  { route: '/test-view', servers: ['bare', 'mayfly', 'hono'] },
  { route: '/test-view-each-meta', servers: ['bare', 'mayfly', 'hono'] },
  { route: '/test-view-include', servers: ['bare', 'mayfly', 'hono'] },
  { route: '/test-view-expr', servers: ['bare', 'mayfly', 'hono'] },
  { route: '/test-isolated', servers: ['mayfly-isolated'] },
  { route: '/test-isolated-cpu', servers: ['mayfly-isolated'] },
]

/** One side of a ratio. */
export interface Side {
  readonly server: ServerName
  readonly route: string
}

/** A ratio with the least value that it should have. */
export interface Target {
  readonly name: string
  readonly of: Side
  readonly to: Side
  readonly atLeast: number
}

const test: Side = { server: 'mayfly', route: '/test' }

/** The ratios to reach on a machine with `cores` cores. */
export function targets(cores: number): Target[] {
  const view = (route: string, atLeast: number): Target => ({
    name: `${route} to /test`,
    of: { server: 'mayfly', route },
    to: test,
    atLeast,
  })
  return [
    { name: '/test to bare Deno.serve', of: test, to: { server: 'bare', route: '/test' }, atLeast: 0.93 },
    { name: '/test to Hono', of: test, to: { server: 'hono', route: '/test' }, atLeast: 1 },
    view('/test-view', 0.85),
    view('/test-view-expr', 0.85),
    view('/test-view-include', 0.85),
    view('/test-view-each-meta', 0.55),
    {
      name: 'empty listener on to off, /test',
      of: { server: 'mayfly-log', route: '/test' },
      to: test,
      atLeast: 0.95,
    },
    {
      name: `/test-worker to /test-cpu, ${cores} cores`,
      of: { server: 'mayfly-worker', route: '/test-worker' },
      to: { server: 'mayfly', route: '/test-cpu' },
      atLeast: 0.8 * cores,
    },
  ]
}
