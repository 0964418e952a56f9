/** How a request can end without an answer of its handler, and what it can be denied before. */
import { HttpError } from '../../errors/http_error.ts'
import type { StreamLimitError } from '../../reach/streams/limits.ts'
import type { Completion } from './completion.ts'
import type { ParkedLimits } from './machines.ts'
import type { ProgramOptions } from '../plan/program.ts'

/** A request that ended without its handler's answer. */
export interface Ending {
  readonly kind: 'timeout' | 'memory' | 'crash'
  /** The option whose limit was met, or words about what happened. */
  readonly reason?: string
  /** The limit, in the option's unit. */
  readonly limit?: number
}

/** Something that a request asked for and did not get; it may have been answered all the same. */
export interface Denied {
  /** The option whose limit was met, or the grant that was wanted; `call`, `network` or `process` for what there is none of. */
  readonly reason: string
  /** The limit, in the option's unit; there is none beside those of options. */
  readonly limit?: number
  /** Name of the system call. */
  readonly call?: string
  readonly times?: number
}

/** Status of a core runtime that was over its heap's limit, as `native/guest-core/src/memory.rs` has it. */
const HEAP_STATUS = 86

/** Why a request was refused, by what `layout.rs` calls its bound. */
const REFUSALS = [
  'Too many requests talk with the host',
  'The requests of this program that wait for the host hold too much memory',
  'The requests that wait for the host hold too much memory',
] as const
const AGAIN = { 'retry-after': '1' }

/** The option of machines that a refused request met, and its value. */
export function boundOf(
  { all, eachMb, allMb }: ParkedLimits,
  { detail }: Completion,
): { readonly name: string; readonly value: number; readonly text: string } {
  if (detail === 1) return { name: 'parked.eachMb', value: eachMb, text: REFUSALS[1] }
  if (detail === 2) return { name: 'parked.allMb', value: allMb, text: REFUSALS[2] }
  return { name: 'parked', value: all, text: REFUSALS[0] }
}

/** How a request ended. The exit status of the core runtime says that it was over its memory. */
function outcomeOf({ runtime }: ProgramOptions, { outcome, detail }: Completion): Completion['outcome'] {
  return runtime === 'core' && outcome === 'exited' && detail === HEAP_STATUS ? 'memory' : outcome
}

/** The answer to a request that its machine did not answer. The program's own words stay in the log. */
export function outcomeError(options: ProgramOptions, completion: Completion): HttpError {
  const cause = completion.message === '' ? undefined : new Error(completion.message)
  switch (outcomeOf(options, completion)) {
    case 'timeout':
      return fail(504, 'isolation-timeout', `The handler took longer than ${options.timeoutMs} ms`)
    case 'cpu':
      return fail(504, 'isolation-timeout', `The handler worked longer than ${options.cpuMs} ms`)
    case 'stuck':
      return fail(504, 'isolation-timeout', 'The handler waits for what can never come')
    case 'memory':
      return fail(507, 'isolation-memory', `The handler used more than ${options.memoryMb} MiB`)
    case 'output':
      return fail(502, 'isolation-output', `The handler wrote more than ${options.outputBytes} bytes`)
    case 'calls': {
      const { systemCalls } = options.limits
      return fail(502, 'isolation-calls', `The handler made more than ${systemCalls} system calls`)
    }
    case 'exited':
      return fail(502, 'isolation-crash', `The handler ended its program with status ${completion.detail}`)
    case 'killed':
      return fail(502, 'isolation-crash', `The handler's program died of signal ${completion.detail}`)
    case 'misbehaved':
      return fail(502, 'isolation-crash', 'The handler gave no valid answer')
    case 'failed':
      return fail(502, 'isolation-crash', 'What runs the handler failed')
    case 'called-off':
      return fail(503, 'isolation-called-off', 'The request was called off')
    case 'refused':
      return fail(503, 'isolation-queue-full', REFUSALS[completion.detail] ?? REFUSALS[0], AGAIN)
    case 'answered':
      throw new TypeError('Cannot make an error of a request that was answered: want another outcome')
  }

  function fail(
    status: number,
    type: string,
    message: string,
    headers?: Readonly<Record<string, string>>,
  ): HttpError {
    return new HttpError(status, message, { type, cause, headers })
  }
}

/** The metadata of an event for a request that its machine did not answer. */
export function endingOf(options: ProgramOptions, completion: Completion): Ending {
  const { message } = completion
  switch (outcomeOf(options, completion)) {
    case 'timeout':
      return { kind: 'timeout', reason: 'timeoutMs', limit: options.timeoutMs }
    case 'cpu':
      return { kind: 'timeout', reason: 'cpuMs', limit: options.cpuMs }
    case 'stuck':
      return { kind: 'timeout', reason: 'it waits for what can never come' }
    case 'memory':
      return { kind: 'memory', reason: 'memoryMb', limit: options.memoryMb }
    case 'output':
      return outputEnding(options)
    case 'calls':
      return { kind: 'crash', reason: 'systemCalls', limit: options.limits.systemCalls }
    default:
      return message === '' ? { kind: 'crash' } : { kind: 'crash', reason: message }
  }
}

/** The metadata of an event for an answer over `outputBytes`. */
export function outputEnding({ outputBytes }: ProgramOptions): Ending {
  return { kind: 'crash', reason: 'outputBytes', limit: outputBytes }
}

/** The metadata of an event for a stream over one of its limits. */
export function streamEnding({ limit: { name, value } }: StreamLimitError): Ending {
  return { kind: name === 'streamBytes' ? 'crash' : 'timeout', reason: name, limit: value }
}

/** What a request was denied: refused system calls, and the rest of its log. */
export function deniedOf({ limits }: ProgramOptions, { denials, logDropped }: Completion): readonly Denied[] {
  const denied: Denied[] = denials.map((denial) => {
    const limit = (limits as Readonly<Record<string, number | undefined>>)[denial.reason]
    return limit === undefined ? denial : { ...denial, limit }
  })
  if (logDropped > 0) denied.push({ reason: 'logBytes', limit: limits.logBytes })
  return denied
}
