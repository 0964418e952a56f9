import type { RequestState } from '../../context/state.ts'
import type { KeptReadings } from '../../isolate/bundle/kept_readings.ts'
import { StartLine } from '../../isolate/boot/start_line.ts'
import type { Isolation } from '../../isolate/isolation.ts'
import type { Machines, MachinesOptions } from '../../isolate/machines/machines.ts'
import type { WarmupRecorder } from '../../isolate/warm/warmup_recorder.ts'
import type { RouteTable } from '../../router/load/load.ts'
import type { RouterReach } from './reach.ts'

/** What stays the same for an app, however often it opens. */
export interface IsolatedSettings {
  /** What isolated routes may ask of the host; null: nothing. */
  readonly reach: RouterReach | null
  /** Opens what runs isolated routes; rejects where there can be none. */
  openMachines: (options: MachinesOptions) => Promise<Machines>
  /** Longest wait of a client's request for the start of its program, in milliseconds. */
  startWaitMs: number
  /** Pause before the first new attempt to open machines that could not be opened. */
  retryPauseMs: number
}

/** What an app knows of its isolated routes. */
export interface IsolatedRoutes extends IsolatedSettings {
  /** Opened with the first isolated route; null before, and where there can be none. */
  isolation: Isolation | null
  /** Why no machine can run. */
  unavailable: Error | null
  /** Why a route is in no program, by file. */
  readonly failures: Map<string, Error>
  /** The last report on a file that failed. */
  readonly told: Map<string, string>
  /** The programs that are not in service yet. */
  readonly line: StartLine
  /** The table that the machines are to run, and the work on the latest one; undefined before the first. */
  table: RouteTable | undefined
  work: Promise<void> | undefined
  /** Bundles of an earlier start are compared with fresh ones. Never rejects. */
  comparison: Promise<void> | undefined
  /** The attempts to open machines that could not be opened; undefined where they could. Never rejects. */
  again: Promise<void> | undefined
  /** What was read of route files at an earlier start, and is at this one; null where nothing is kept. */
  readings: KeptReadings | null
  /** The native library is compiling. */
  building: boolean
  /** Of requests that wait for the start of their program true, of those that did false. */
  readonly starting: WeakMap<RequestState, boolean>
  /** Writes requests down, in development and when asked to. */
  recorder: WarmupRecorder | null
  /** Ends the build when the app is closed. */
  readonly stop: AbortController
}

/** Nothing isolated yet. */
export function createIsolatedRoutes(settings: IsolatedSettings): IsolatedRoutes {
  const { reach, openMachines, startWaitMs, retryPauseMs } = settings
  return {
    reach,
    openMachines,
    startWaitMs,
    retryPauseMs,
    isolation: null,
    unavailable: null,
    failures: new Map(),
    told: new Map(),
    line: new StartLine(),
    table: undefined,
    work: undefined,
    comparison: undefined,
    again: undefined,
    readings: null,
    building: false,
    starting: new WeakMap(),
    recorder: null,
    stop: new AbortController(),
  }
}
