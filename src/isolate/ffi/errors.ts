/** Native statuses as errors. */
import { toPrintable } from '../../errors/printable.ts'
import { STATUSES, type StatusName } from './layout.ts'

/** A native call was refused. */
export class NativeError extends Error {
  override readonly name: string = 'NativeError'
  readonly status: StatusName

  constructor(status: StatusName, message: string) {
    super(message)
    this.status = status
  }
}

/** As many requests wait as may. */
export class QueueFullError extends NativeError {
  override readonly name = 'QueueFullError'

  constructor() {
    super('queue-full', 'Cannot submit a request: the queue is full, want a place in it')
  }
}

/** The pool or the program was closed. */
export class ClosedError extends NativeError {
  override readonly name = 'ClosedError'

  constructor(what: string) {
    super('closed', `Cannot use the ${what}: it was closed, want an open one`)
  }
}

/** This host cannot run virtual machines; the message says why, and names the remedy. */
export class IsolationUnavailableError extends NativeError {
  override readonly name = 'IsolationUnavailableError'

  constructor(message: string) {
    super('unavailable', message)
  }
}

/** A program did not come to wait for its first request. Its last words on fd 2 end the message, which is printable. */
export class BootError extends NativeError {
  override readonly name = 'BootError'
  /** Index of the warm-up frame at which it happened, or null. */
  readonly entry: number | null

  constructor(message: string, entry: number | null = null) {
    super('boot-failed', toPrintable(message))
    this.entry = entry
  }
}

const NAMES = new Map<number, StatusName>(
  (Object.entries(STATUSES) as [StatusName, number][]).map(([name, value]) => [value, name]),
)

/** The error of a negative status. `text` is the native side's own words, or empty. */
export function toNativeError(status: number, text: string): NativeError {
  const name = NAMES.get(status)
  switch (name) {
    case 'queue-full':
      return new QueueFullError()
    case 'closed':
      return new ClosedError('pool')
    case 'unavailable':
      return new IsolationUnavailableError(text)
    case 'boot-failed':
      return new BootError(text)
    case undefined:
      return new NativeError('panic', `Native call answered ${status}, want a known status`)
    default:
      return new NativeError(name, text === '' ? `Native call was refused: ${name}` : text)
  }
}
