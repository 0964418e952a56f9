/** The state of the site's virtual machines, gathered from their events. */
import type { LifecycleEvent } from '@mayfly/mayfly'

/** How far the machines are. `waiting` is before any event: the native library may be compiling. */
export type Phase = 'off' | 'waiting' | 'booting' | 'ready' | 'unavailable'

/** One request that came out of a machine. Times are in microseconds. */
export interface Run {
  readonly id: number
  outcome: 'answered' | 'timeout' | 'memory' | 'crash'
  readonly vm: number
  readonly queue: number
  readonly run: number
  readonly reset: number
  /** Times that the guest left for the monitor. */
  readonly exits: number
  /** Pages that the reset put back. */
  readonly pages: number
}

/** The machines as visitors see them. */
export interface Isolation {
  phase: Phase
  /** Worker processes run in place of machines. */
  workers: boolean
  /** Why there are no machines, and the remedy. */
  reason: string
  /** Milliseconds from the start of the last program to its snapshot. */
  bootMs: number
  /** The last requests, oldest first. */
  readonly runs: Run[]
  total: number
}

const KEPT = 20

/** The state before any event; `off` when there are to be no machines. */
export function createIsolation(isOff: boolean): Isolation {
  return { phase: isOff ? 'off' : 'waiting', workers: false, reason: '', bootMs: 0, runs: [], total: 0 }
}

/** Takes in one event, and ignores those of other things. */
export function recordIsolation(isolation: Isolation, event: LifecycleEvent): void {
  switch (event.kind) {
    case 'isolate:boot':
      if (isolation.total === 0) isolation.phase = 'booting'
      return
    case 'isolate:ready':
      isolation.phase = 'ready'
      isolation.bootMs = event.metadata.bootMs ?? 0
      return
    case 'isolate:complete':
      return addRun(isolation, event.metadata)
    case 'isolate:timeout':
    case 'isolate:memory':
    case 'isolate:crash':
      return correctRun(isolation, event)
    case 'route:error':
    case 'reload:error':
      return noteFailure(isolation)
    case 'isolate:unavailable':
      return noteUnavailable(isolation, event.metadata)
  }
}

/** One sentence on the state of the machines. */
export function sayPhase({ phase, workers, reason, bootMs }: Isolation): string {
  switch (phase) {
    case 'off':
      return 'This server was started without virtual machines (isolate: false), so isolated routes answer 503.'
    case 'waiting':
      return 'The machines are starting. In a new checkout the server first compiles the native library with cargo, once.'
    case 'booting':
      return 'The handlers are loading.'
    case 'ready':
      return workers
        ? `No machine can run here, so worker processes run in their place: weaker, and every response says so. ${reason}`
        : `The machines run. The last program took ${Math.round(bootMs)} ms from its boot to its snapshot.`
    case 'unavailable':
      return `No machine can run here, so isolated routes answer 503. ${reason}`
  }
}

type IsolateEvent = Extract<
  LifecycleEvent,
  { kind: 'isolate:complete' | `isolate:${'timeout' | 'memory' | 'crash'}` }
>

function addRun(isolation: Isolation, metadata: IsolateEvent['metadata']): void {
  const { vm = 0, queueMicros = 0, runMicros = 0, resetMicros = 0, exits = 0, dirtyPages = 0 } = metadata
  isolation.phase = 'ready'
  isolation.runs.push({
    id: ++isolation.total,
    outcome: 'answered',
    vm,
    queue: toShown(queueMicros),
    run: toShown(runMicros),
    reset: toShown(resetMicros),
    exits,
    pages: dirtyPages,
  })
  if (isolation.runs.length > KEPT) isolation.runs.shift()
}

/** A request that ended badly has two events: `isolate:complete`, and right after it the one of its end. */
function correctRun(isolation: Isolation, { kind, metadata }: IsolateEvent): void {
  const last = isolation.runs.at(-1)
  if (last === undefined || last.vm !== metadata.vm || last.run !== toShown(metadata.runMicros ?? 0)) return
  last.outcome = kind.slice('isolate:'.length) as Run['outcome']
}

/** Three digits say enough; below 100, one of them behind the point. */
function toShown(micros: number): number {
  return micros < 100 ? Math.round(micros * 10) / 10 : Math.round(micros)
}

/** A route that cannot be served while a program boots is one of its own. */
function noteFailure(isolation: Isolation): void {
  if (isolation.phase !== 'booting') return
  isolation.phase = isolation.bootMs > 0 ? 'ready' : 'unavailable'
  isolation.reason = 'Their program did not boot; the log of the server says why.'
}

function noteUnavailable(
  isolation: Isolation,
  { error, instead }: Extract<LifecycleEvent, { kind: 'isolate:unavailable' }>['metadata'],
): void {
  isolation.workers = instead === 'worker'
  if (instead === 'refuse') isolation.phase = 'unavailable'
  isolation.reason = sayCause(error)
}

/** Only messages that name no folder of this machine. */
export function sayCause(error: Error): string {
  if (error.name === 'IsolationUnavailableError') return `${error.message}.`
  if (error.name !== 'NativeBuildError') return 'The log of the server says why.'
  return 'The native library could not be built: install Rust (rustup) and a C linker, and restart the server; its log says more.'
}
