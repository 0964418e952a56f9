/** From what a handler gave to the frame that answers. */
import { joinBytes } from '../../context/join_bytes.ts'
import { HttpError } from '../../errors/http_error.ts'
import type { HeaderPairs, PendingData, ResponseHead } from '../wire/message.ts'
import { toJsonMembers } from '../wire/json_members.ts'
import type { GuestContext } from './context.ts'
import { WINDOW } from '../../reach/calls/protocol.ts'
import { checkChunk } from '../../reach/guest/answer.ts'
import { runSocket, sendStream } from './reach.ts'
import { UpgradeResponse } from './http/upgrade.ts'
import { isStreamed } from './http/response_constructor.ts'
import { toErrorData } from './errors.ts'
import { NOTHING } from './http/head.ts'
import { type FrameHeader, host } from './host.ts'
import { PLAIN_HEADS, type PlainHead } from './http/plain_head.ts'
import { LazyResponse, ViewResponse } from './http/response.ts'

const encoder = new TextEncoder()

/** Writes the answer of a response; at once if it can. `limit`: bytes of the body. */
export function answer(ctx: GuestContext, response: Response, limit: number): void | Promise<void> {
  if (!LazyResponse.isUntouched(response)) return answerReal(ctx, LazyResponse.real(response), limit)
  if (ctx.answered) return
  const head = LazyResponse.head(response)
  const header = leavesNothing(ctx)
    ? frameOf(head)
    : encodeHead({ status: head.status, headers: head.headers, ...collect(ctx) })
  throwRefused()
  if (!host.sendText(header, LazyResponse.content(response) ?? '', limit)) return answerOver(ctx, limit)
  ctx.answered = true
}

/** Ends a request whose response has left. */
const STREAMED = encodeHead({ status: 200, headers: [] })

// Before the snapshot, for programs without a warm-up.
Object.values(PLAIN_HEADS).forEach(frameOf)

function frameOf(head: PlainHead): FrameHeader {
  const { status, headers } = head
  if (!head.kept) return encodeHead({ status, headers })
  return head.frame ??= host.keepHeader(JSON.stringify({ status, headers }))
}

/** Writes the answer of an error, unless the request has been answered. */
export function answerError(ctx: GuestContext, error: unknown): void {
  writeError(ctx, { error: toErrorData(host.takeRefusal() ?? error) })
}

/** Throws what the runtime refused to the request, though its handler has an answer. */
function throwRefused(): void {
  const refused = host.takeRefusal()
  if (refused !== undefined) throw refused
}

/** The error of an answer over its limit: 502, as what came is no answer. */
function answerOver(ctx: GuestContext, limit: number): void {
  const error = new HttpError(502, `The isolated handler's answer is over the limit of ${limit} bytes`, {
    type: 'isolation-output',
  })
  writeError(ctx, { error: toErrorData(error), over: true })
}

function writeError(ctx: GuestContext, error: Pick<ResponseHead, 'error' | 'over'>): void {
  if (ctx.answered) return
  ctx.answered = true
  if (host.sendBytes(encodeHead({ ...error, ...collect(ctx), ...statusOf(ctx) }), NOTHING, 0)) return
  // What the handler collected is over the limit of a header.
  host.sendBytes(encodeHead(error), NOTHING, 0)
}

/** Writes the answer to a control frame. */
export function answerControl(answer: object): void {
  if (!host.sendBytes(host.toHeader(JSON.stringify(answer)), NOTHING, 0)) {
    host.sendBytes(host.toHeader('{}'), NOTHING, 0)
  }
}

async function answerReal(ctx: GuestContext, response: Response, limit: number): Promise<void> {
  if (response instanceof ViewResponse) return answerView(ctx, response, limit)
  if (response instanceof UpgradeResponse) return answerUpgrade(ctx, response)
  if (!isStreamed(response) || response.body === null) {
    return answerBytes(ctx, response, await response.bytes(), limit)
  }
  if (host.isAlone) return answerBytes(ctx, response, await readUpTo(response.body, limit), limit)
  return answerStream(ctx, response, limit)
}

function answerBytes(ctx: GuestContext, response: Response, body: Uint8Array, limit: number): void {
  const head = headOf(ctx, response)
  if (ctx.answered) return
  throwRefused()
  if (!host.sendBytes(encodeHead(head), body, limit)) return answerOver(ctx, limit)
  ctx.answered = true
}

function headOf(ctx: GuestContext, response: Response): ResponseHead {
  const { status, statusText } = response
  if (status < 200) {
    throw new RangeError(`Cannot answer with status ${status} from an isolated handler: want 200 to 599`)
  }
  return {
    status,
    ...(statusText === '' ? {} : { statusText }),
    headers: toPairs(response.headers),
    ...collect(ctx),
  }
}

/** The request lasts as long as its WebSocket. */
async function answerUpgrade(ctx: GuestContext, { socket }: UpgradeResponse): Promise<void> {
  if (ctx.answered) return
  if (host.isAlone) throw new TypeError('Cannot upgrade a request: a worker process has no WebSockets')
  throwRefused()
  await runSocket(socket)
  if (ctx.answered) return
  ctx.answered = true
  host.sendBytes(STREAMED, NOTHING, 0)
}

/** Turns of the event loop's microtasks for which a body may take to its next piece, and be no stream yet. */
const TURNS = 64

/** A body that is soon there goes whole, as others do; of another one the head leaves at once, and then each piece. */
async function answerStream(ctx: GuestContext, response: Response, limit: number): Promise<void> {
  const reader = response.body!.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let next = reader.read()
  for (;;) {
    const read = await within(next)
    if (read === null) break
    if (read.done) return answerBytes(ctx, response, joinBytes(chunks), limit)
    chunks.push(checkChunk(read.value))
    size += read.value.length
    next = reader.read()
    if (size > WINDOW) break
  }
  if (ctx.answered) return
  throwRefused()
  const head = encoder.encode(JSON.stringify(headOf(ctx, response)))
  const end = await sendStream(head, chunks, startingWith(next, reader))
  if (ctx.answered) return
  if (end === 'closed') return answerBytes(ctx, response, joinBytes(chunks).subarray(0, limit), limit)
  ctx.answered = true
  host.sendBytes(STREAMED, NOTHING, 0)
}

/** The value of a promise that is settled in a few turns; null for another. */
async function within<T>(promise: Promise<T>): Promise<T | null> {
  let settled = false
  promise.then(() => settled = true, () => settled = true)
  for (let turn = 0; turn < TURNS && !settled; turn++) await null
  return settled ? await promise : null
}

/** A reader whose next piece was asked for already. */
function startingWith<T>(
  next: Promise<ReadableStreamReadResult<T>>,
  reader: ReadableStreamDefaultReader<T>,
): Pick<ReadableStreamDefaultReader<T>, 'read' | 'cancel'> {
  let first: typeof next | null = next
  return {
    read() {
      const read = first ?? reader.read()
      first = null
      return read
    },
    cancel: (reason) => reader.cancel(reason),
  }
}

/** The pairs that iterating gives, at a fraction of its cost. */
function toPairs(headers: Headers): HeaderPairs {
  const pairs: [string, string][] = []
  headers.forEach((value, name) => pairs.push([name, value]))
  return pairs
}

/** All bytes of a stream; of one that is over `limit` no more than it takes to know that, and the stream is cancelled. */
async function readUpTo(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    size += chunk.length
    if (size > limit) break
  }
  return joinBytes(chunks)
}

function answerView(ctx: GuestContext, response: ViewResponse, limit: number): void {
  const { view, data, options } = response
  const headers = toPairs(response.headers)
  const head: ResponseHead = {
    view: {
      name: view,
      options: {
        ...(options.status === undefined ? {} : { status: options.status }),
        ...(options.stream === undefined ? {} : { stream: options.stream }),
        ...(headers.length === 0 ? {} : { headers }),
      },
    },
    ...collect(ctx),
    ...statusOf(ctx),
  }
  const text = JSON.stringify(data)
  throwRefused()
  if (!host.sendText(encodeHead(head), text, limit)) return answerOver(ctx, limit)
  ctx.answered = true
}

/** Nothing but the response goes back. */
function leavesNothing(ctx: GuestContext): boolean {
  return ctx.pending === null && ctx.bag === null && (ctx.session === null || !ctx.session.changed)
}

/** What goes back beside the response. */
function collect(ctx: GuestContext): Pick<ResponseHead, 'pending' | 'session' | 'state'> {
  const { pending, session, bag } = ctx
  const state = bag === null ? undefined : changedState(bag, ctx.stateText)
  return {
    ...(pending === null ? {} : { pending: toPendingData(pending) }),
    ...(session?.changed ? { session: { data: session.data } } : {}),
    ...(state === undefined ? {} : { state }),
  }
}

function statusOf(ctx: GuestContext): Pick<ResponseHead, 'setStatus'> {
  return ctx.status === 0 ? {} : { setStatus: ctx.status }
}

function toPendingData({ single, appended }: NonNullable<GuestContext['pending']>): PendingData {
  return { single: [...single], appended }
}

/** The members of `ctx.state` that have a JSON form, if they are others than came. */
function changedState(bag: Record<string, unknown>, before: string): Record<string, unknown> | undefined {
  const after = toJsonMembers(bag)
  return after === before || (before === '' && after === '{}') ? undefined : JSON.parse(after)
}

function encodeHead(head: ResponseHead): FrameHeader {
  return host.toHeader(JSON.stringify(head))
}
