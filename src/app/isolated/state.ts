import type { Isolation } from '../isolate/isolation.ts'
import { StartLine } from '../isolate/boot/start_line.ts'
import type { RouteTable } from '../router/load/load.ts'

/** What an app knows of its isolated routes. */
export interface IsolatedRoutes {
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
  /** The attempts to open machines that could not be opened; undefined where they could. Never rejects. */
  again: Promise<void> | undefined
  /** The native library is compiling. */
  building: boolean
  /** Ends the build when the app is closed. */
  readonly stop: AbortController
}

/** Nothing isolated yet. */
export function noIsolatedRoutes(): IsolatedRoutes {
  return {
    isolation: null,
    unavailable: null,
    failures: new Map(),
    told: new Map(),
    line: new StartLine(),
    table: undefined,
    work: undefined,
    again: undefined,
    building: false,
    stop: new AbortController(),
  }
}
