/** The ways to run code that arrives at runtime which `deno task bench --sandbox` compares. */
import type { IsolateRuntime } from '@mayfly/mayfly'

/** Whose a way is. */
export type Host = 'mayfly' | 'workerd' | 'node' | 'deno'

/** How a way is asked: over HTTP, as all are, or by a call inside its own process. */
export type Through = 'http' | 'call'

/** One way. */
export interface SandboxWay {
  readonly id: string
  readonly name: string
  readonly host: Host
  /** Every request brings the same program; else each one brings another. */
  readonly isWarm: boolean
  /** Of a machine's. */
  readonly runtime?: IsolateRuntime
}

/** Connections at the same time, and calls. */
export const CONNECTIONS = [1, 8] as const

/** The ways by their order in the report. */
export const SANDBOX_WAYS: readonly SandboxWay[] = [
  way('run', 'run', 'mayfly', false, 'deno'),
  way('run-core', 'run, core', 'mayfly', false, 'core'),
  way('get-new', 'get, fresh name', 'mayfly', false, 'deno'),
  way('get-new-core', 'get, fresh name, core', 'mayfly', false, 'core'),
  way('get-warm', 'get, warm', 'mayfly', true, 'deno'),
  way('get-warm-core', 'get, warm, core', 'mayfly', true, 'core'),
  way('workerd-load', 'workerd load()', 'workerd', false),
  way('workerd-get-new', 'workerd get(), fresh name', 'workerd', false),
  way('workerd-get-warm', 'workerd get(), warm', 'workerd', true),
  way('isolated-vm', 'isolated-vm, fresh isolate', 'node', false),
  way('worker', 'fresh Deno Worker', 'deno', false),
  way('process', 'fresh deno process', 'deno', false),
]

/** What all others are compared with. */
export const BASELINE = 'workerd-load'

/** How a way can be asked. */
export function throughs({ host }: SandboxWay): readonly Through[] {
  return host === 'mayfly' ? ['http', 'call'] : ['http']
}

/** The way of an id. Throws `TypeError` for one that there is not. */
export function findWay(id: string): SandboxWay {
  const found = SANDBOX_WAYS.find((way) => way.id === id)
  if (found !== undefined) return found
  throw new TypeError(
    `Cannot run the benchmark: no way "${id}", want some of ${SANDBOX_WAYS.map(({ id }) => id).join(' ')}`,
  )
}

function way(id: string, name: string, host: Host, isWarm: boolean, runtime?: IsolateRuntime): SandboxWay {
  return { id, name, host, isWarm, ...(runtime === undefined ? {} : { runtime }) }
}
