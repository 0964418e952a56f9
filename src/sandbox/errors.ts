/** What `Sandbox` rejects with. Every class says what the program met; none tells anything of the host. */

/** The limit that a run met. */
export interface MetLimit {
  /** The option: `timeoutMs`. */
  readonly name: string
  /** Its value, in the unit that the name ends with. */
  readonly value: number
  /** What was used of it until then, where that is known. */
  readonly used?: number
}

/** What a run left behind beside its value. Times are in microseconds. */
export interface RunStats {
  /** Time in the queue. */
  readonly queueMicros: number
  /** Time in the machine. */
  readonly runMicros: number
  /** The part of `runMicros` in which the modules of a call were loaded, as the machine says; undefined where it gave no answer. */
  readonly loadMicros?: number
  /** Times that the program left for the machine's kernel. */
  readonly exits: number
  /** Times that it waited for the host while its machine was parked, and how long; no part of `runMicros`. */
  readonly parks: number
  readonly parkedMicros: number
  /** Whether it ran in a snapshot of its own. */
  readonly warm: boolean
  /** Resolves when the machine is clean again: how long that took, and how many pages were put back. */
  reset(): Promise<{ readonly resetMicros: number; readonly pages: number }>
}

interface SandboxErrorOptions extends ErrorOptions {
  readonly logs?: string
  readonly stats?: RunStats
}

/** The class of all errors of a sandbox. */
export class SandboxError extends Error {
  override readonly name: string = 'SandboxError'
  /** What the program wrote to its console up to there. */
  readonly logs: string
  /** Absent for what never ran. */
  readonly stats: RunStats | undefined

  constructor(message: string, { logs = '', stats, ...options }: SandboxErrorOptions = {}) {
    super(message, options)
    this.logs = logs
    this.stats = stats
  }
}

/** The program threw. Its name, message and stack are the program's words, the stack with its own files and lines only. */
export class ThrownError extends SandboxError {
  override readonly name: string
  /** What was thrown, cloned: an instance of the built-in class that it was of, or any value. */
  readonly thrown: unknown

  constructor(name: string, message: string, thrown: unknown, options: SandboxErrorOptions) {
    super(message, options)
    this.name = name
    this.thrown = thrown
  }
}

/** A run went over one of its limits, and was ended. */
export class LimitError extends SandboxError {
  override readonly name: string = 'LimitError'
  readonly limit: MetLimit

  constructor(message: string, limit: MetLimit, options: SandboxErrorOptions = {}) {
    super(message, options)
    this.limit = limit
  }
}

/** Over `timeoutMs` or `cpuMs`. */
export class TimeoutError extends LimitError {
  override readonly name = 'TimeoutError'
}

/** Over `memoryMb`. */
export class MemoryError extends LimitError {
  override readonly name = 'MemoryError'
}

/** Over `outputBytes` or `valueBytes`. */
export class OutputError extends LimitError {
  override readonly name = 'OutputError'
}

/** Over `systemCalls`. */
export class CallsError extends LimitError {
  override readonly name = 'CallsError'
}

/** The program ended itself, or gave what is no answer. */
export class CrashError extends SandboxError {
  override readonly name = 'CrashError'
}

/** Too many runs wait. Nothing ran. */
export class QueueError extends LimitError {
  override readonly name = 'QueueError'
}
