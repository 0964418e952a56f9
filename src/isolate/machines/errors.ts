/** Why what runs programs does not. */
import { toPrintable } from '../../errors/printable.ts'

/** A pool or a program that cannot do what it was asked to. */
export class MachinesError extends Error {
  override readonly name: string = 'MachinesError'
}

/** As many requests wait as may. */
export class QueueFullError extends MachinesError {
  override readonly name = 'QueueFullError'

  constructor() {
    super('Cannot submit a request: the queue is full, want a place in it')
  }
}

/** The pool or the program was closed. */
export class ClosedError extends MachinesError {
  override readonly name = 'ClosedError'

  constructor(what: string) {
    super(`Cannot use the ${what}: it was closed, want an open one`)
  }
}

/** This host cannot run virtual machines; the message says why, and names the remedy. */
export class IsolationUnavailableError extends MachinesError {
  override readonly name = 'IsolationUnavailableError'
}

/** A program did not come to wait for its first request. Its last words on fd 2 end the message, which is printable. */
export class BootError extends MachinesError {
  override readonly name = 'BootError'
  /** Index of the warm-up frame at which it happened, or null. */
  readonly entry: number | null

  constructor(message: string, entry: number | null = null) {
    super(toPrintable(message))
    this.entry = entry
  }
}

/** Nothing could be built; the message says what to do. `output` ends with cargo's last words. */
export class NativeBuildError extends MachinesError {
  override readonly name = 'NativeBuildError'
  readonly output: string

  constructor(message: string, output = '', options?: ErrorOptions) {
    super(output === '' ? message : `${message}\n${output}`, options)
    this.output = output
  }
}
