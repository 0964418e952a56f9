/** What came out of a machine, as a value, a response or an error. All of it may be anybody's. */
import { toPrintable } from '../errors/printable.ts'
import type { Completion } from '../isolate/machines/completion.ts'
import { endingOf } from '../isolate/machines/outcome.ts'
import { StreamLimitError } from '../reach/streams/limits.ts'
import {
  AnswerError,
  decodeResponse,
  decodeResponseHead,
  type GuestAnswer,
} from '../isolate/wire/response_frame.ts'
import type { ErrorData } from '../isolate/wire/message.ts'
import { ANSWER_HEADER_MAX, FrameError } from '../isolate/wire/wire.ts'
import {
  CallsError,
  CrashError,
  MemoryError,
  OutputError,
  type RunStats,
  type SandboxError,
  ThrownError,
  TimeoutError,
} from './errors.ts'
import type { ResolvedLimits } from './limits.ts'
import { advise } from './advice.ts'
import type { CallAnswer } from './message.ts'
import { cleanStack, type ToStack } from './stack.ts'
import { decodeValue } from '../values/decode.ts'
import { RAW_MARK, ValueError } from '../values/format.ts'

/** What a run left beside its answer. */
export interface Remains {
  readonly logs: string
  readonly stats: RunStats
}

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** The logs and figures of a run. */
export function remainsOf(completion: Completion, warm: boolean): Remains {
  const { log, queueUs, runUs, exits, parks, parkedUs, reset } = completion
  const stats: RunStats = {
    queueMicros: queueUs,
    runMicros: runUs,
    exits,
    parks,
    parkedMicros: parkedUs,
    warm,
    async reset() {
      await reset.over()
      return { resetMicros: reset.us, pages: reset.dirtyPages }
    },
  }
  return { logs: log.length === 0 ? '' : new TextDecoder().decode(log), stats }
}

/** What a call gave. Throws the error that it ended with. */
export function takeValue(
  limits: ResolvedLimits,
  completion: Completion,
  remains: Remains,
  toStack: ToStack = cleanStack,
): Remains & { readonly value: unknown } {
  const { body } = takeAnswer(limits, completion, remains, toStack)
  const { valueBytes } = limits
  const mark = body.indexOf(RAW_MARK)
  const length = mark === -1 ? body.length : mark
  if (length > valueBytes) {
    throw new OutputError(
      `The value is over the limit of ${valueBytes} bytes without its buffers`,
      { name: 'valueBytes', value: valueBytes, used: length },
      remains,
    )
  }
  const answer = read(() => {
    const value = decodeValue(body, { toStack })
    if (!isAnswer(value)) throw new ValueError('Reading a value: it is no answer')
    return value
  }, remains)
  const [ok, outcome, loadMicros] = answer
  const stats = { ...remains.stats, loadMicros: Math.min(Math.round(loadMicros), remains.stats.runMicros) }
  if (ok) return { ...remains, stats, value: outcome }
  throw toThrown(limits, outcome, { ...remains, stats })
}

function isAnswer(value: unknown): value is CallAnswer {
  return Array.isArray(value) && value.length === 3 && typeof value[0] === 'boolean' &&
    typeof value[2] === 'number' && value[2] >= 0
}

/** The response that a program gave. Throws the error that it ended with. */
export function takeResponse(
  limits: ResolvedLimits,
  completion: Completion,
  remains: Remains,
  toStack: ToStack = cleanStack,
): Response {
  const { head, body } = takeAnswer(limits, completion, remains, toStack)
  const { status, statusText, headers, view } = head
  if (view !== undefined || status === undefined) throw noAnswer(remains, 'it is no response')
  return read(
    () =>
      new Response(NULL_BODY.has(status) ? null : body, {
        status,
        ...(statusText === undefined ? {} : { statusText }),
        headers: headers as [string, string][],
      }),
    remains,
  )
}

/** The response whose head came before its body. Throws `AnswerError` or `FrameError` for what is no head. */
export function takeHead(
  json: Uint8Array<ArrayBuffer>,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Response {
  const { status, statusText, headers } = decodeResponseHead(json, ANSWER_HEADER_MAX)
  if (status === undefined || NULL_BODY.has(status)) {
    throw new AnswerError('Reading a response: its stream has no body')
  }
  return new Response(body, {
    status,
    ...(statusText === undefined ? {} : { statusText }),
    headers: headers as [string, string][],
  })
}

/** Why a stream broke. `failure` is what the host ended it for, if it did. */
export function takeBroken(
  limits: ResolvedLimits,
  completion: Completion,
  remains: Remains,
  failure: unknown,
  toStack: ToStack = cleanStack,
): SandboxError {
  if (failure instanceof StreamLimitError) {
    const { message, limit } = failure
    return limit.name === 'streamBytes'
      ? new OutputError(message, limit, remains)
      : new TimeoutError(message, limit, remains)
  }
  if (failure !== undefined) return noAnswer(remains, toPrintable(String(failure)))
  try {
    takeAnswer(limits, completion, remains, toStack)
    return noAnswer(remains, 'it ended before its stream')
  } catch (error) {
    return error as SandboxError
  }
}

function takeAnswer(
  limits: ResolvedLimits,
  completion: Completion,
  remains: Remains,
  toStack: ToStack,
): GuestAnswer {
  const { options } = limits
  if (completion.outcome !== 'answered') throw toEndError(limits, completion, remains)
  const answer = read(
    () => decodeResponse(completion.frame, { header: ANSWER_HEADER_MAX, body: options.outputBytes }),
    remains,
  )
  const { error, over } = answer.head
  if (over === true) throw overOutput(limits, remains)
  if (error !== undefined) throw fromData(limits, error, remains, toStack)
  return answer
}

function read<T>(work: () => T, remains: Remains): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof FrameError || error instanceof AnswerError || error instanceof ValueError) {
      throw noAnswer(remains, toPrintable(error.message))
    }
    if (error instanceof TypeError || error instanceof RangeError) {
      throw noAnswer(remains, 'it cannot be read')
    }
    throw error
  }
}

function noAnswer(remains: Remains, why: string): SandboxError {
  return new CrashError(`The program gave no valid answer: ${why}`, remains)
}

function overOutput({ options: { outputBytes } }: ResolvedLimits, remains: Remains): SandboxError {
  const limit = { name: 'outputBytes', value: outputBytes }
  return new OutputError(`The answer is over the limit of ${outputBytes} bytes`, limit, remains)
}

/** The error of a run that its program did not answer. */
function toEndError(limits: ResolvedLimits, completion: Completion, remains: Remains): SandboxError {
  const { options } = limits
  const { kind, reason, limit } = endingOf(options, completion)
  const { outcome, detail, queueUs, runUs, parkedUs } = completion
  const met = (used?: number) => ({ name: reason!, value: limit!, ...(used === undefined ? {} : { used }) })
  if (kind === 'memory') {
    return new MemoryError(`The program used more than ${options.memoryMb} MiB`, met(), remains)
  }
  if (reason === 'timeoutMs' || reason === 'cpuMs') {
    const [verb, us] = reason === 'cpuMs' ? ['worked', runUs] : ['took', queueUs + runUs + parkedUs]
    return new TimeoutError(`The program ${verb} longer than ${limit} ms`, met(us / 1000), remains)
  }
  if (reason === 'outputBytes') return overOutput(limits, remains)
  if (reason === 'systemCalls') {
    return new CallsError(`The program made more than ${limit} system calls`, met(), remains)
  }
  switch (outcome) {
    case 'exited':
      return new CrashError(`The program ended itself with status ${detail}`, remains)
    case 'killed':
      return new CrashError(`The program died of signal ${detail}`, remains)
    case 'stuck':
      return new CrashError('The program waits for what can never come', remains)
    case 'misbehaved':
      return noAnswer(remains, 'it wrote none')
    default:
      return new CrashError('What runs the program failed', remains)
  }
}

/** What a program threw, as an error of the host. */
function toThrown(
  { options: { runtime } }: ResolvedLimits,
  thrown: unknown,
  remains: Remains,
): SandboxError {
  if (!(thrown instanceof Error)) {
    return new ThrownError('Error', `threw ${short(thrown)}`, thrown, remains)
  }
  const name = toPrintable(String(thrown.name)).slice(0, 256)
  const message = advise(runtime, toPrintable(thrown.message))
  const error = new ThrownError(name, message, thrown, { ...remains, cause: thrown.cause })
  const stack = thrown.stack ?? `${name}: ${message}`
  setStack(error, message === thrown.message ? stack : stack.replace(thrown.message, () => message))
  return error
}

/** The same, of an error that came as data, and not as a value. */
function fromData(
  limits: ResolvedLimits,
  { name, message, stack, cause }: ErrorData,
  remains: Remains,
  toStack: ToStack,
): SandboxError {
  // The guest names the request that it answers; of a call there is none that anybody has made.
  const thrown = new Error(
    message.replace(/^Cannot answer \S+ \S+:/, 'Cannot answer:'),
    cause === undefined ? {} : { cause: fromData(limits, cause, remains, toStack) },
  )
  thrown.name = name
  setStack(thrown, stack === undefined ? `${name}: ${message}` : toStack(stack))
  return toThrown(limits, thrown, remains)
}

function setStack(error: Error, stack: string): void {
  Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true })
}

function short(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? 'an object' : String(value)
  return toPrintable(text.length > 200 ? `${text.slice(0, 200)}...` : text)
}
