/** What runs programs: virtual machines, or worker processes in their place. */
import type { Awaitable } from '../../context/types.ts'
import type { Completion, SubmitOptions } from './completion.ts'
import type { Program } from '../plan/program.ts'
import type { HandlerTrial } from './trial.ts'

/** Which boundary is around the handlers. */
export type Boundary = 'vm' | 'worker'

/**
 * How many requests with a channel may be under way at once, waiting for the host or not, and what the machines of those that wait may
 * hold.
 */
export interface ParkedLimits {
  /** Of one program. */
  readonly each: number
  readonly all: number
  /** MiB of their own that the parked machines of one program hold. */
  readonly eachMb: number
  /** The same of all. */
  readonly allMb: number
}

export const DEFAULT_PARKED: ParkedLimits = Object.freeze({ each: 256, all: 1024, eachMb: 1024, allMb: 4096 })

/** MiB for each place where no other bound is given: most machines that wait hold 1 to 3. */
const MB_OF_A_PLACE = 4

/**
 * The limits, with defaults for what is not given: those of one program are never over those of all, and the memory is never less than
 * usual machines need in so many places.
 */
export function resolveParked(given: ParkedOptions = {}): ParkedLimits {
  const all = given.all ?? Math.max(DEFAULT_PARKED.all, given.each ?? 0)
  const each = given.each ?? Math.min(DEFAULT_PARKED.each, all)
  const allMb = given.allMb ?? Math.max(DEFAULT_PARKED.allMb, MB_OF_A_PLACE * all, given.eachMb ?? 0)
  const eachMb = given.eachMb ?? Math.min(Math.max(DEFAULT_PARKED.eachMb, MB_OF_A_PLACE * each), allMb)
  return { each, all, eachMb, allMb }
}

/** {@linkcode ParkedLimits} as a user gives them. */
export interface ParkedOptions {
  /** Of one program. Default 256. */
  readonly each?: number | undefined
  /** In all. Default 1024. */
  readonly all?: number | undefined
  /** MiB that the machines of one program hold while they wait: pages that they wrote to. Default 1024, or 4 for each of `each`. */
  readonly eachMb?: number | undefined
  /** The same of all programs. Default 4096, or 4 for each of `all`. */
  readonly allMb?: number | undefined
}

/** A folder for snapshots. */
export interface SnapshotFolder {
  readonly dir: string
  /** MiB; over it the files that were not used for the longest time are removed. */
  readonly mostMb: number
}

/** How many requests run and wait, and how to follow the opening. */
export interface MachinesOptions {
  /** Requests that run at the same time. */
  readonly vms: number
  /** Requests that may wait. */
  readonly queue: number
  /** Requests with a channel that may be under way at once, and their memory; one more is refused as by a full queue. Default {@linkcode DEFAULT_PARKED}. */
  readonly parked?: ParkedLimits | undefined
  /** Called when a library has to be built first, which takes minutes. */
  readonly onBuild?: (() => void) | undefined
  /** MiB for programs and their machines; over it the least recently used are dropped, and loaded again when they are needed. */
  readonly memoryBudgetMb?: number | undefined
  /** A program was dropped. */
  readonly onDrop?: ((program: Program) => void) | undefined
  /** A program was compared with one that was never warmed; these handlers answer otherwise: what the warm-up left shows. */
  readonly onResidue?: ((program: Program, handlers: readonly string[]) => void) | undefined
  /** A dropped program was loaded again, or one that served before its warm-up is warm. */
  readonly onReady?: ((program: Program, how: Readiness) => void) | undefined
  /** Keeps snapshots on disk, for programs that are booted with `kept`. */
  readonly snapshots?: SnapshotFolder | undefined
  /** The snapshot of a program on disk is of no use, and the program boots. */
  readonly onRefused?: ((program: Program, reason: string) => void) | undefined
  /** Programs that a warm-up makes quicker serve before it, and it runs in the background; without it they wait for theirs. */
  readonly warmLater?: boolean | undefined
  /** Gives the opening up. */
  readonly signal?: AbortSignal | undefined
}

/** How a program came to take requests. */
export interface Readiness {
  /** False: it serves before its warm-up, which follows. */
  readonly warm?: boolean | undefined
  /** Whether it came from a file; undefined where none is kept. */
  readonly cached?: boolean | undefined
  /** Milliseconds until it took requests. */
  readonly bootMs: number
  /** Milliseconds of them until its modules had run, from its base on; undefined where there is none. */
  readonly loadMs?: number | undefined
  /** Whether requests run as fast as at the end of the warm-up; undefined where there is none. */
  readonly settled?: boolean | undefined
  /** How its handlers ran in a fork of it; undefined where there is none. */
  readonly trials?: readonly HandlerTrial[] | undefined
}

/** A program that takes requests. */
export interface BootedProgram extends Readiness {
  /** Frame that answers `describe`. */
  readonly description: Uint8Array<ArrayBuffer>
  /** False while it is dropped: its next request waits for it to be loaded again. */
  readonly inMemory?: boolean | undefined
}

/** A pool of what runs programs. */
export interface Machines {
  readonly boundary: Boundary
  /** The folder of snapshots, once it was found to be good; null where none is kept. */
  readonly folder?: string | null
  /** Nothing is done in the background while `starts` goes on, which boots one program after the other. */
  whileStarting(starts: () => Promise<void>): Promise<void>
  /** Starts a program; rejects when it does not come to wait for its first request. `kept`: its snapshot may lie on disk. */
  boot(plan: Program, kept?: boolean): Promise<BootedProgram>
  /**
   * Runs a request; at once if the thread waited for it. Throws or rejects with `QueueFullError`, and with `ClosedError` for a program
   * or pool that is closed.
   */
  submit(
    program: BootedProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Awaitable<Completion>
  /**
   * Readies machines of a program ahead of its first request, one after the other; requests of others are served meanwhile. Resolves when
   * they are ready, or take too long to wait for. Never rejects.
   */
  prepare(program: BootedProgram): Promise<void>
  /** Ends a program after its requests. */
  retire(program: BootedProgram): Promise<void>
  /** Ends the programs after the requests under way, which their deadlines bound. */
  close(): Promise<void>
}
