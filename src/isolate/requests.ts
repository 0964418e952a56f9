/**
 * Requests to isolated handlers, and their answers.
 *
 * ```text
 * runIsolated -> frame -> machine -> frame -> Response
 *                            |-- channel: head, then each piece of its body -> Response, whose end is the request's
 * ```
 */
import { bodyTooSlow } from '../context/body.ts'
import { emitEvent, trackSocket } from '../context/internals.ts'
import type { RequestState } from '../context/state.ts'
import type { Awaitable } from '../context/types.ts'
import { isOriginAllowed } from '../context/websocket_handshake.ts'
import { clientLeft } from '../errors/client_left.ts'
import { HttpError } from '../errors/http_error.ts'
import { toPrintable } from '../errors/printable.ts'
import type { Conversation } from '../reach/calls/conversation.ts'
import { type AnswerStream, StreamError } from '../reach/streams/answer_stream.ts'
import { onLeave } from '../reach/streams/client.ts'
import { StreamLimitError } from '../reach/streams/limits.ts'
import { type RequestBody, RequestChannel, type RequestStream } from '../reach/streams/request_channel.ts'
import { UpgradeError, upgradeRequest } from '../reach/streams/upgrade.ts'
import type { Admission, Refusals } from './answer/admission.ts'
import { toResponse, toStreamed } from './answer/answer_to_context.ts'
import { type GuestRequest, toGuestRequest } from './answer/context_to_guest.ts'
import { refusedOf, warnOfRefusals } from './answer/refusals.ts'
import type { IsolatedHandler, Isolation, IsolationHooks } from './isolation.ts'
import { findCold, isNotable } from './machines/cold_watch.ts'
import type { Completion, SubmitOptions } from './machines/completion.ts'
import { ClosedError, QueueFullError } from './machines/errors.ts'
import { DEFAULT_PARKED } from './machines/machines.ts'
import {
  boundOf,
  deniedOf,
  type Ending,
  endingOf,
  outcomeError,
  outputEnding,
  streamEnding,
} from './machines/outcome.ts'
import type { Program } from './plan/program.ts'
import { toHostError } from './plan/stack.ts'
import { AnswerError, decodeResponse, decodeResponseHead } from './wire/response_frame.ts'
import { ANSWER_HEADER_MAX, FrameError } from './wire/wire.ts'

/**
 * Runs a request in a machine and makes its answer the response: at once where all that it waits for is there. Throws or rejects with
 * what the handler threw, or with an `HttpError`: 503 for a full queue, 504, 507 and 502 for a request that went over its time, its
 * memory or its output, or ended its program. `conversation`: what the handler may ask of the host; without one that is nothing.
 */
export function runIsolated(
  isolation: Isolation,
  handler: IsolatedHandler,
  ctx: RequestState,
  conversation?: Conversation,
): Awaitable<Response> {
  if (handler.error !== undefined) throw handler.error
  const streams = isolation.machines.boundary === 'vm' && handler.program.plan.executable === undefined
  const request = toGuestRequest(ctx, handler.index, streams)
  if (request instanceof Promise) {
    return request.then((request) => askWithBody(isolation, handler, ctx, request, conversation))
  }
  return ask(isolation, handler, ctx, request.frame, conversation)
}

/** Runs a request whose body may come behind it. What the body ended for is why the handler failed. */
async function askWithBody(
  isolation: Isolation,
  handler: IsolatedHandler,
  ctx: RequestState,
  { frame, rest }: GuestRequest,
  conversation: Conversation | undefined,
): Promise<Response> {
  if (rest === null) return await ask(isolation, handler, ctx, frame, conversation)
  let failure: unknown
  const body: RequestBody = {
    source: rest,
    timeoutMs: handler.program.plan.options.timeoutMs,
    tooSlow: bodyTooSlow,
    failed: (error) => void (failure = error),
    waits: (yes) => void (ctx.readingBody = yes),
  }
  try {
    return await ask(isolation, handler, ctx, frame, conversation, body)
  } catch (error) {
    throw failure ?? error
  }
}

function ask(
  isolation: Isolation,
  handler: IsolatedHandler,
  ctx: RequestState,
  frame: Uint8Array<ArrayBuffer>,
  conversation: Conversation | undefined,
  body?: RequestBody,
): Awaitable<Response> {
  let channel: RequestChannel | null = null
  let answer: PromiseWithResolvers<Response> | null = null
  let refusals: Refusals | null = null
  let hasLeft = false
  const open = () => {
    return channel = new RequestChannel({
      conversation: conversation ?? null,
      limits: handler.program.plan.options.limits,
      body,
      open: ctx.host.streams,
      broke: (error) => ctx.host.streamFailed(ctx, error),
      begin: (head, stream) =>
        beginStream(handler, ctx, head, stream, (found) => void (refusals = found), answer!),
      upgrade: (protocol) => beginSocket(handler, ctx, protocol, answer!),
    })
  }
  const slow = (callOff: () => void) =>
    onLeave(ctx.request, () => {
      if (channel !== null) return channel.leave()
      hasLeft = true
      callOff()
    })
  const completion = submit(
    isolation,
    handler,
    frame,
    conversation === undefined ? { lateChannel: open, slow } : { channel: open(), slow },
  )
  // Nobody may have asked for it.
  if (body !== undefined) Promise.resolve(completion).catch(() => {}).then(() => body.source.cancel())
  if (!(completion instanceof Promise)) return take(isolation, handler, ctx, completion)
  answer = Promise.withResolvers()
  const { promise, resolve, reject } = answer
  completion.then((done) => {
    const stream = channel?.stream ?? null
    const failure = stream?.failure ?? channel?.failure ??
      (hasLeft && done.outcome === 'called-off' ? clientLeft() : undefined)
    if (stream === null && failure === undefined) return resolve(take(isolation, handler, ctx, done))
    const { hooks } = isolation.options
    report(hooks, handler, done)
    if (stream === null) return refuseAnswer(hooks, handler.program.plan, done, failure)
    if (refusals !== null) tellRefusals(hooks, handler, done, refusals)
    return endStream(isolation, handler, done, stream, failure)
  }).catch((error) => {
    // Where its machines have failed.
    channel?.stream?.over((failure) => failure ?? error)
    reject(error)
  })
  return promise
}

/** Answers with a response whose body comes piece by piece. Throws for a head that is none. */
function beginStream(
  handler: IsolatedHandler,
  ctx: RequestState,
  head: Uint8Array<ArrayBuffer>,
  { body }: AnswerStream,
  refusals: (found: Refusals) => void,
  { resolve, reject }: PromiseWithResolvers<Response>,
): void {
  const admission: Admission = { ctx, grants: handler.program.grants, refusals: null }
  try {
    resolve(toStreamed(admission, decodeResponseHead(head, ANSWER_HEADER_MAX), body))
  } catch (error) {
    reject(toInvalid(error))
    throw error
  } finally {
    if (admission.refusals !== null) refusals(admission.refusals)
  }
}

/** Answers with the handshake of a WebSocket. Throws for a request that cannot become one: a page of another origin asks for it, say. */
function beginSocket(
  handler: IsolatedHandler,
  ctx: RequestState,
  protocol: string,
  { resolve, reject }: PromiseWithResolvers<Response>,
): WebSocket {
  try {
    if (ctx.peer === undefined) throw new TypeError('Cannot upgrade a request: it came by no server')
    const { limits, allowedOrigins } = handler.program.plan.options
    if (!isOriginAllowed(ctx, allowedOrigins === null ? undefined : new Set(allowedOrigins))) {
      const message = allowedOrigins === null
        ? 'This origin may not connect: only pages of the own one may'
        : 'This origin may not connect: it is none of those that the route allows'
      throw new UpgradeError({ status: 403, reason: 'origin', message })
    }
    const { socket, response } = upgradeRequest(ctx.request, protocol, limits)
    trackSocket(ctx, socket)
    resolve(response)
    return socket
  } catch (error) {
    reject(toRefused(ctx, error))
    throw error
  }
}

function toRefused(ctx: RequestState, error: unknown): unknown {
  if (!(error instanceof UpgradeError)) return error
  const { status, reason, message, headers } = error.fault
  emitEvent(ctx, 'websocket:rejected', {
    reason,
    status,
    origin: ctx.request.headers.get('origin') ?? undefined,
  })
  return new HttpError(status, message, { headers, cause: error })
}

/** Reports a request whose response was a stream, and ends that where it has not. */
async function endStream(
  isolation: Isolation,
  handler: IsolatedHandler,
  completion: Completion,
  stream: RequestStream,
  failure: unknown,
): Promise<void> {
  const { plan } = handler.program
  const { hooks } = isolation.options
  stream.over(() => failure ?? brokenBy(plan, completion))
  await tellDenied(hooks, plan, completion)
  if (failure instanceof StreamLimitError) {
    await tellEnding(hooks, plan, completion, streamEnding(failure))
  } else if (isFault(failure)) {
    await tellEnding(hooks, plan, completion, { kind: 'crash', reason: failure.message })
  } else if (completion.outcome !== 'answered' && completion.outcome !== 'called-off') {
    await tellOutcome(isolation, plan, completion)
  }
}

/** Why a stream ended before its end: what its body threw, or how the request ended. */
function brokenBy({ options, stacks }: Program, completion: Completion): Error {
  if (completion.outcome !== 'answered') return outcomeError(options, completion)
  try {
    const { head } = decodeResponse(completion.frame, { header: ANSWER_HEADER_MAX, body: 0 })
    if (head.error !== undefined) return toHostError(stacks, head.error)
  } catch (error) {
    return error as Error
  }
  return new TypeError('The handler ended its request before its stream')
}

/** Reports a request that is done, and makes its answer the response. */
function take(
  isolation: Isolation,
  handler: IsolatedHandler,
  ctx: RequestState,
  completion: Completion,
): Awaitable<Response> {
  const { hooks } = isolation.options
  const { plan } = handler.program
  report(hooks, handler, completion)
  const wasDenied = completion.denials.length > 0 || completion.logDropped > 0
  if (wasDenied || completion.outcome !== 'answered') return takeUnusual(isolation, handler, ctx, completion)
  if (isNotable(handler.watch, completion.runUs)) {
    const finding = findCold(handler.watch, ctx, completion.runUs)
    if (finding !== null) hooks.cold?.(plan, handler.index, finding)
  }
  return toAnswer(hooks, handler, ctx, completion)
}

/** Tells of a request that came out of its machine. */
function report(hooks: IsolationHooks, handler: IsolatedHandler, completion: Completion): void {
  const { plan } = handler.program
  const { reset } = completion
  reset.whenOver(() => {
    hooks.complete?.(plan, completion)
    if (reset.state === 'lost') hooks.lost?.(plan, completion)
  })
  if (completion.log.length > 0) writeLog(handler, completion)
}

/** Tells what it was denied, behind that. */
async function tellDenied(hooks: IsolationHooks, plan: Program, completion: Completion): Promise<void> {
  if (completion.denials.length === 0 && completion.logDropped === 0) return
  await completion.reset.over()
  for (const denied of deniedOf(plan.options, completion)) hooks.denied?.(plan, completion, denied)
}

async function takeUnusual(
  isolation: Isolation,
  handler: IsolatedHandler,
  ctx: RequestState,
  completion: Completion,
): Promise<Response> {
  const { plan } = handler.program
  const { hooks } = isolation.options
  await tellDenied(hooks, plan, completion)
  if (completion.outcome === 'answered') return await toAnswer(hooks, handler, ctx, completion)
  await tellOutcome(isolation, plan, completion)
  throw outcomeError(plan.options, completion)
}

function toAnswer(
  hooks: IsolationHooks,
  handler: IsolatedHandler,
  ctx: RequestState,
  completion: Completion,
): Awaitable<Response> {
  const { plan, grants } = handler.program
  const admission: Admission = { ctx, grants, refusals: null }
  try {
    const limits = { header: ANSWER_HEADER_MAX, body: plan.options.outputBytes }
    const answer = decodeResponse(completion.frame, limits)
    if (answer.head.over !== true) return toResponse(admission, answer, plan.stacks)
    return tellEnding(hooks, plan, completion, outputEnding(plan.options))
      .then(() => toResponse(admission, answer, plan.stacks))
      .catch((error) => refuseAnswer(hooks, plan, completion, error))
  } catch (error) {
    return refuseAnswer(hooks, plan, completion, error)
  } finally {
    if (admission.refusals !== null) tellRefusals(hooks, handler, completion, admission.refusals)
  }
}

/** Reports what the answer lacked the grants for: on standard error at once, by events after `complete`. */
function tellRefusals(
  hooks: IsolationHooks,
  handler: IsolatedHandler,
  completion: Completion,
  refusals: Refusals,
): void {
  warnOfRefusals(handler, handler.key, refusals)
  completion.reset.whenOver(() => {
    for (const denied of refusedOf(refusals)) hooks.denied?.(handler.program.plan, completion, denied)
  })
}

/** Rejects with 502 for an answer that is none, else with `error`. */
async function refuseAnswer(
  hooks: IsolationHooks,
  plan: Program,
  completion: Completion,
  error: unknown,
): Promise<never> {
  const invalid = toInvalid(error)
  if (invalid === error) throw error
  await tellEnding(hooks, plan, completion, { kind: 'crash', reason: (error as Error).message })
  throw invalid
}

/** The error of an answer that is none, for a fault in it; any other as it is. */
function toInvalid(error: unknown): unknown {
  if (!isFault(error)) return error
  return new HttpError(502, 'The isolated handler gave no valid answer', {
    type: 'isolation-crash',
    cause: error,
  })
}

/** Whether a program answered what is no answer. */
function isFault(error: unknown): error is Error {
  return error instanceof FrameError || error instanceof AnswerError || error instanceof StreamError
}

/** Reports a request that its machine did not answer: how it ended, or the bound for which it was refused. */
async function tellOutcome(
  { options: { hooks, parked = DEFAULT_PARKED } }: Isolation,
  plan: Program,
  completion: Completion,
): Promise<void> {
  if (completion.outcome !== 'refused') {
    return await tellEnding(hooks, plan, completion, endingOf(plan.options, completion))
  }
  await completion.reset.over()
  const { name, value } = boundOf(parked, completion)
  hooks.rejected?.(plan, value, name)
}

/** Reports how a request ended, after `complete`: an answer that stands need not wait for the reset, and this one does not. */
async function tellEnding(
  hooks: IsolationHooks,
  plan: Program,
  completion: Completion,
  ending: Ending,
): Promise<void> {
  await completion.reset.over()
  hooks.ended?.(plan, completion, ending)
}

/** The host's side of what a handler says: there from the beginning, or made when it says something. */
type Talk = Pick<SubmitOptions, 'channel' | 'lateChannel' | 'slow'>

function submit(
  isolation: Isolation,
  handler: IsolatedHandler,
  frame: Uint8Array<ArrayBuffer>,
  talk: Talk,
): Awaitable<Completion> {
  const { plan, booted } = handler.program
  const { timeoutMs, ephemeral } = plan.options
  // A program that is no handler of JavaScript says nothing but its calls.
  const talks = plan.executable === undefined || 'channel' in talk
  const refused = (error: unknown) => submitAgain(isolation, handler, frame, talk, error)
  try {
    const completion = isolation.machines.submit(booted, frame, {
      timeoutMs,
      keep: !ephemeral,
      flow: handler.index,
      ...(talks ? talk : {}),
      // What it keeps is the other requests' too.
      ...(ephemeral ? {} : { slow: undefined }),
    })
    return completion instanceof Promise ? completion.catch(refused) : completion
  } catch (error) {
    return refused(error)
  }
}

/** After a refusal: to the program that took the place of the one that refused, or an error that says why. */
function submitAgain(
  isolation: Isolation,
  handler: IsolatedHandler,
  frame: Uint8Array<ArrayBuffer>,
  talk: Talk,
  error: unknown,
): Awaitable<Completion> {
  if (error instanceof QueueFullError) {
    isolation.options.hooks.rejected?.(handler.program.plan, isolation.options.queue)
    throw new HttpError(503, 'Too many requests wait for an isolated handler', {
      type: 'isolation-queue-full',
      headers: { 'retry-after': '1' },
      cause: error,
    })
  }
  // A reload retired the program between the match of the request and now.
  if (!(error instanceof ClosedError)) throw error
  const current = isolation.handlers.get(handler.key)
  if (current !== undefined && current !== handler) return submit(isolation, current, frame, talk)
  throw new HttpError(503, 'The virtual machines of this handler end', {
    type: 'isolation-unavailable',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

function writeLog({ key, program }: IsolatedHandler, { log, logDropped }: Completion): void {
  const { logBytes } = program.plan.options.limits
  const text = toPrintable(new TextDecoder().decode(log).trimEnd())
  const note = logDropped === 0 ? '' : `\nmayfly: its log is over ${logBytes} bytes; the rest was dropped`
  console.error(`mayfly: isolated ${key}: ${(text + note).replaceAll('\n', '\n  ')}`)
}
