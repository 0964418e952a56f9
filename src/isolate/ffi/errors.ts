/** Native statuses as errors. */
import {
  BootError,
  ClosedError,
  IsolationUnavailableError,
  MachinesError,
  QueueFullError,
} from '../machines/errors.ts'
import { STATUSES, type StatusName } from './layout.ts'

/** A native call was refused. */
export class NativeError extends MachinesError {
  override readonly name = 'NativeError'
  readonly status: StatusName

  constructor(status: StatusName, message: string) {
    super(message)
    this.status = status
  }
}

const NAMES = new Map<number, StatusName>(
  (Object.entries(STATUSES) as [StatusName, number][]).map(([name, value]) => [value, name]),
)

/** The error of a negative status. `text` is the native side's own words, or empty. */
export function toNativeError(status: number, text: string): MachinesError {
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
