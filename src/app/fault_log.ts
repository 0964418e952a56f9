/**
 * Faults on stderr: each new one at once, with what helps to find it; the same one again is counted, and the count is printed at most every ten seconds. A
 * route that fails for every request must not hide what else the log says.
 */
import { type LogText, toLogText } from '../errors/log_text.ts'

/** A fault that was printed. */
interface Fault {
  readonly line: string
  /** Times that it came again and was not printed. */
  repeats: number
  /** When it was last printed, in milliseconds since the epoch. */
  toldAt: number
}

/** The faults of one app by their key; the one that was printed first comes first. */
export interface FaultLog {
  readonly faults: Map<string, Fault>
}

/** Milliseconds between two lines about the same fault. */
const QUIET_MS = 10_000
/** Faults that are remembered. */
const MOST_FAULTS = 200

/** A log without faults. */
export function createFaultLog(): FaultLog {
  return { faults: new Map() }
}

/** Prints a fault, or counts it: `what` says what failed, `GET /a failed`. `project` as for {@linkcode toLogText}. */
export function logFault(log: FaultLog, what: string, error: unknown, project: string | null): void {
  const { line, key, below } = toLogText(error, project)
  const known = log.faults.get(key)
  if (known === undefined) {
    remember(log, key, `mayfly: ${what}: ${line}`)
    console.error([`mayfly: ${what}: ${line}`, ...below].join('\n'))
  } else countAgain(known)
}

/** Prints a fault of loading, also when it was printed before; requests that meet it are counted from here on. */
export function logNews(log: FaultLog, error: unknown, project: string | null): void {
  const { line, below } = noteNews(log, error, project)
  console.error([`mayfly: ${line}`, ...below].join('\n'))
}

/** As {@linkcode logNews}, for a fault that the caller prints. */
export function noteNews(log: FaultLog, error: unknown, project: string | null): LogText {
  const text = toLogText(error, project)
  log.faults.delete(text.key)
  remember(log, text.key, `mayfly: ${text.line}`)
  return text
}

/** Prints the counts that are still open, and clears the log. */
export function flushFaults(log: FaultLog): void {
  for (const fault of log.faults.values()) tellRepeats(fault)
  log.faults.clear()
}

function countAgain(fault: Fault): void {
  fault.repeats++
  if (Date.now() - fault.toldAt >= QUIET_MS) tellRepeats(fault)
}

function tellRepeats(fault: Fault): void {
  if (fault.repeats === 0) return
  const times = fault.repeats === 1 ? 'once more' : `${fault.repeats} times more`
  console.error(`${fault.line} (${times})`)
  fault.repeats = 0
  fault.toldAt = Date.now()
}

function remember({ faults }: FaultLog, key: string, line: string): void {
  const [[oldest, fault] = []] = faults.size < MOST_FAULTS ? [] : faults
  if (oldest !== undefined && fault !== undefined) {
    tellRepeats(fault)
    faults.delete(oldest)
  }
  faults.set(key, { line, repeats: 0, toldAt: Date.now() })
}
