/**
 * One request's exchanges with the host. All that is heard may be anybody's: it is checked, bounded and answered, and what makes no sense
 * is answered by an error or by nothing.
 */
import { decodeValue } from '../../values/decode.ts'
import { encodeValue, joinMessage } from '../../values/encode.ts'
import { Outbound, OutboundError, type OutboundUse } from '../outbound/fetch.ts'
import type { OutboundFunction } from '../outbound/policy.ts'
import { type Bindings, callBinding, CallError, fetcherOf, toCallee } from './bindings.ts'
import { callAs } from './caller.ts'
import { toTold } from './failure.ts'
import { readArguments, toJsonFailure, toJsonValue } from './json_calls.ts'
import { Credit, Inbox, sendPieces } from './pieces.ts'
import { ReceivedStream, type SayOf, SentStream, type StreamEnd } from './streams.ts'
import {
  type HostHead,
  MAX_HEAD,
  MAX_STREAMS,
  MAX_UNDER_WAY,
  MAX_VALUE,
  MAX_WHOLE,
  type Message,
  type RequestHead,
  type ResponseHead,
} from './protocol.ts'

/** What a program reaches. */
export interface Reach {
  /** Its name, for functions of the host. */
  readonly program: string
  readonly bindings: Bindings
  /** Null: nothing. */
  readonly outbound: Outbound | OutboundFunction | null
  /** Exchanges of one request. */
  readonly calls: number
  /** Hears what calls gave. */
  readonly notice?: ((binding: string, member: string | null, value: unknown) => void) | undefined
}

/** Counts of a request. */
export interface ConversationUse extends OutboundUse {
  calls: number
}

/** Says a message; false when the request has ended, or does not hear for now. */
export type Say = (message: Message) => boolean

/** A stream of a call: `call` is the exchange of that, whose program's it is; null for one that the host sends. */
interface OpenStream {
  readonly end: StreamEnd
  readonly call: number | null
}

interface Exchange {
  readonly abort: AbortController
  /** Of the request's body; null where it has none. */
  readonly inbox: Inbox | null
  readonly credit: Credit
}

const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })
/** Milliseconds between attempts to say what was not heard. */
const AGAIN_MS = 4
/** Messages that wait to be said: a value for each exchange, and little beside it. */
const MAX_UNSAID = 4 * (MAX_UNDER_WAY + MAX_STREAMS)
/** Bytes of them, over which nothing new begins. */
const MAX_UNSAID_BYTES = 8 << 20
const NO_FETCH =
  'Cannot fetch: this program reaches no network, want its outbound hosts allowed (outbound), or a binding that asks for it'

/** A request's end of the channel. */
export class Conversation {
  readonly use: ConversationUse = { calls: 0, subRequests: 0, requestBytes: 0, responseBytes: 0 }
  readonly #reach: Reach
  readonly #exchanges = new Map<number, Exchange>()
  readonly #streams = new Map<number, OpenStream>()
  readonly #unsaid: Message[] = []
  /** Number of the next stream of the host's. */
  #next = 2
  #timer: ReturnType<typeof setTimeout> | undefined
  #unsaidBytes = 0
  #ended = false

  constructor(reach: Reach) {
    this.#reach = reach
  }

  /** Takes a message of the program. Never throws. */
  hear({ id, head, body }: Message, say: Say): void {
    if (this.#ended) return
    const words = toWords(head)
    const [verb, ...rest] = words
    const known = this.#exchanges.get(id)
    const stream = this.#streams.get(id)
    if (stream !== undefined) {
      if (stream.end.hear(verb, rest[0], body)) this.#streams.delete(id)
      return
    }
    if (known !== undefined) return this.#goOn(id, known, verb, rest[0], body)
    if (verb !== 'call' && verb !== 'fetch') return
    this.use.calls++
    const inJson = verb === 'call' && rest.length > 2
    if (this.use.calls > this.#reach.calls) {
      const error = new CallError(`Cannot call the host: more than ${this.#reach.calls} calls`)
      return this.#fail(id, error, say, inJson)
    }
    if (this.#exchanges.size >= MAX_UNDER_WAY || this.#unsaidBytes > MAX_UNSAID_BYTES) {
      const error = new CallError(`Cannot call the host: more than ${MAX_UNDER_WAY} calls under way`)
      return this.#fail(id, error, say, inJson)
    }
    if (inJson) {
      return this.#begin(id, null, say, (exchange) => this.#callInJson(id, rest, body, exchange, say), true)
    }
    if (verb === 'call') {
      return this.#begin(id, null, say, (exchange) => this.#call(id, rest, body, exchange, say))
    }
    const request = toRequest(rest[1])
    const hasBody = request?.hasBody === true
    const inbox = hasBody ? new Inbox((bytes) => this.#say({ id, ...toMessage(['more', bytes]) }, say)) : null
    this.#begin(id, inbox, say, (exchange) => this.#fetch(id, rest[0], request, exchange, say))
  }

  /** The request has ended: whatever is under way is called off. */
  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#unsaid.length = 0
    for (const { abort, inbox } of this.#exchanges.values()) {
      const reason = new DOMException('The request has ended', 'AbortError')
      abort.abort(reason)
      inbox?.fail(reason)
    }
    this.#exchanges.clear()
    // An error costs 10 us, and most requests have no stream.
    if (this.#streams.size === 0) return
    this.#stopStreams(() => true, new DOMException('The request has ended', 'AbortError'))
  }

  #stopStreams(isMeant: (stream: OpenStream) => boolean, reason: unknown): void {
    for (const [id, stream] of this.#streams) {
      if (!isMeant(stream)) continue
      this.#streams.delete(id)
      stream.end.stop(reason)
    }
  }

  #begin(
    id: number,
    inbox: Inbox | null,
    say: Say,
    work: (exchange: Exchange) => Promise<void>,
    inJson = false,
  ): void {
    const exchange: Exchange = { abort: new AbortController(), inbox, credit: new Credit() }
    this.#exchanges.set(id, exchange)
    work(exchange)
      .catch((error) => {
        if (this.#exchanges.get(id) === exchange) this.#fail(id, error, say, inJson)
      })
      .finally(() => {
        if (this.#exchanges.get(id) === exchange) this.#exchanges.delete(id)
      })
  }

  #goOn(
    id: number,
    { abort, inbox, credit }: Exchange,
    verb: unknown,
    word: unknown,
    body: Uint8Array<ArrayBuffer>,
  ): void {
    switch (verb) {
      case 'cancel': {
        this.#exchanges.delete(id)
        const reason = new DOMException('The program has called it off', 'AbortError')
        abort.abort(reason)
        inbox?.fail(reason)
        return this.#stopStreams(({ call }) => call === id, reason)
      }
      case 'more':
        if (Number.isSafeInteger(word) && (word as number) > 0) credit.add(word as number)
        return
      case 'end':
        return inbox?.end()
      case 'piece':
        if (inbox !== null && !inbox.put(body)) {
          inbox.fail(new CallError('Cannot fetch: more of a body than was asked for'))
        }
    }
  }

  async #call(
    id: number,
    names: readonly unknown[],
    body: Uint8Array<ArrayBuffer>,
    { abort }: Exchange,
    say: Say,
  ): Promise<void> {
    const [name, member] = toCallee(names)
    const streams: ReadableStream<unknown>[] = []
    let args: unknown
    try {
      args = decodeValue(body, {
        toHanded: (number) => {
          const stream = this.#receive(number, id, say)
          streams.push(stream)
          return stream
        },
      })
    } catch (error) {
      this.#leave(streams)
      throw error instanceof CallError ? error : new CallError('Cannot call the host: the arguments are none')
    }
    try {
      if (!Array.isArray(args)) throw new CallError('Cannot call the host: the arguments are no list')
      const value = await this.#ofBinding(name, member, args, abort.signal)
      this.#reach.notice?.(name, member, value)
      if (abort.signal.aborted) return discard(value)
      this.#answer(id, value, say)
    } finally {
      this.#leave(streams)
    }
  }

  /** A call of a program that has no structured clones: its arguments and the value are JSON and bytes. */
  async #callInJson(
    id: number,
    words: readonly unknown[],
    body: Uint8Array<ArrayBuffer>,
    { abort }: Exchange,
    say: Say,
  ): Promise<void> {
    const [name, member] = toCallee(words)
    const value = await this.#ofBinding(name, member, readArguments(body, words[2], words[3]), abort.signal)
    if (abort.signal.aborted || value instanceof ReadableStream) discard(value)
    if (!abort.signal.aborted) this.#say({ id, ...toJsonValue(value) }, say)
  }

  async #ofBinding(
    name: string,
    member: string | null,
    args: readonly unknown[],
    signal: AbortSignal,
  ): Promise<unknown> {
    const { bindings, program } = this.#reach
    return await callAs({ program, signal }, () => callBinding(bindings, name, member, args))
  }

  #answer(id: number, value: unknown, say: Say): void {
    const sent = new Map<number, SentStream>()
    try {
      const hand = (object: object) =>
        object instanceof ReadableStream ? this.#hand(object, sent, say) : undefined
      const told = joinMessage(encodeValue(value, { stacks: false, hand }))
      if (told.length > MAX_VALUE) {
        throw new CallError(`The host gave a value of ${told.length} bytes, want at most ${MAX_VALUE}`)
      }
      this.#say({ id, head: toMessage(['value']).head, body: told }, say)
    } catch (error) {
      for (const [number, stream] of sent) {
        this.#streams.delete(number)
        stream.stop(error)
      }
      throw error
    }
    for (const [number, stream] of sent) void stream.send(() => this.#streams.delete(number))
  }

  /** A stream that the program sends. Throws `CallError` for a number that is none. */
  #receive(number: number, call: number, say: Say): ReadableStream<unknown> {
    if (number % 2 === 0 || number === call || this.#exchanges.has(number) || this.#streams.has(number)) {
      throw new CallError('Cannot call the host: a stream among the arguments is none')
    }
    this.#checkStreams((call) => call !== null)
    const end = new ReceivedStream(this.#sayOf(number, say), toThrown, () => this.#streams.delete(number))
    this.#streams.set(number, { end, call })
    return end.stream
  }

  /** The number of a stream that the host sends. */
  #hand(stream: ReadableStream<unknown>, sent: Map<number, SentStream>, say: Say): number {
    this.#checkStreams((call) => call === null)
    const number = this.#next
    this.#next += 2
    const end = new SentStream(stream, this.#sayOf(number, say), toTold)
    sent.set(number, end)
    this.#streams.set(number, { end, call: null })
    return number
  }

  #checkStreams(isAlike: (call: number | null) => boolean): void {
    const open = [...this.#streams.values()].filter(({ call }) => isAlike(call)).length
    if (open >= MAX_STREAMS) {
      throw new CallError(`Cannot call the host: ${MAX_STREAMS} streams are open, want at most that`)
    }
  }

  /** A call is over: nobody will read what nobody reads now. */
  #leave(streams: readonly ReadableStream<unknown>[]): void {
    for (const stream of streams) if (!stream.locked) stream.cancel().catch(() => {})
  }

  /** Says something of a stream; a program that does not hear is waited for. */
  #sayOf(id: number, say: Say): SayOf {
    return async (head, body = NOTHING) => {
      while (this.#unsaid.length > 0 && !this.#ended && head[0] !== 'more' && head[0] !== 'cancel') {
        await new Promise((done) => setTimeout(done, AGAIN_MS))
      }
      this.#say({ id, head: encoder.encode(JSON.stringify(head)), body }, say)
    }
  }

  async #fetch(
    id: number,
    name: unknown,
    request: RequestHead | null,
    exchange: Exchange,
    say: Say,
  ): Promise<void> {
    if (request === null) throw new CallError('Cannot fetch: the request is none')
    const { abort: { signal }, inbox, credit } = exchange
    const answer = typeof name === 'string'
      ? await this.#ask(fetcherOf(this.#reach.bindings, name), request, inbox, signal)
      : await this.#askNetwork(request, inbox, signal)
    try {
      signal.throwIfAborted()
      this.#say({ id, ...toMessage(['response', answer.head]) }, say)
      await sendPieces(answer.body, credit, (piece) => {
        signal.throwIfAborted()
        this.#say({ id, head: toMessage(['piece']).head, body: piece }, say)
      })
      this.#say({ id, ...toMessage(['end']) }, say)
    } finally {
      answer.cancel()
    }
  }

  async #askNetwork(request: RequestHead, inbox: Inbox | null, signal: AbortSignal): Promise<Answer> {
    const { outbound, program } = this.#reach
    if (outbound === null) throw new OutboundError(NO_FETCH)
    if (!(outbound instanceof Outbound)) {
      if (++this.use.subRequests > MAX_SUB_REQUESTS) {
        throw new OutboundError(`Cannot fetch: more than ${MAX_SUB_REQUESTS} requests`)
      }
      return await this.#ask((request) => outbound(request, { program }), request, inbox, signal)
    }
    const { status, headers, url, redirected, body, cancel } = await outbound.fetch({
      ...request,
      body: await toBody(request, inbox),
      signal,
    }, this.use)
    return { head: { status, headers, url, redirected, hasBody: true }, body, cancel }
  }

  /** Asks a function of the host, or another program. */
  async #ask(
    fetch: (request: Request) => Response | PromiseLike<Response>,
    head: RequestHead,
    inbox: Inbox | null,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { url, method, headers, redirect } = head
    const body = await toBody(head, inbox)
    let request: Request
    try {
      request = new Request(url, {
        method,
        headers: headers as [string, string][],
        redirect,
        signal,
        body: body instanceof Inbox
          ? ReadableStream.from(body) as ReadableStream<Uint8Array<ArrayBuffer>>
          : body,
      })
    } catch {
      throw new CallError('Cannot fetch: the request is none')
    }
    const { program } = this.#reach
    const response = await callAs({ program, signal }, () => fetch(request))
    if (!(response instanceof Response)) throw new CallError('Cannot fetch: the host gave no response')
    const { status, statusText, body: answered } = response
    const answer = {
      status,
      statusText,
      headers: [...response.headers],
      url: response.url,
      redirected: response.redirected,
      hasBody: answered !== null,
    }
    return {
      head: answer,
      body: answered ?? nothing(),
      cancel: () => void answered?.cancel().catch(() => {}),
    }
  }

  #fail(id: number, error: unknown, say: Say, inJson = false): void {
    if (inJson) return this.#say({ id, ...toJsonFailure(toTold(error)) }, say)
    const told = joinMessage(encodeValue(toTold(error), { stacks: false }))
    this.#say({ id, head: toMessage(['error']).head, body: told }, say)
  }

  /** Says it, behind all that was not heard yet. */
  #say(message: Message, say: Say): void {
    if (this.#ended) return
    if (this.#unsaid.length === 0 && say(message)) return
    // A program that asks and never hears: its exchanges are bounded, errors for what is more are not.
    if (this.#unsaid.length >= MAX_UNSAID) return
    this.#unsaid.push(message)
    this.#unsaidBytes += message.body.length
    this.#timer ??= setTimeout(() => this.#sayAgain(say), AGAIN_MS)
  }

  #sayAgain(say: Say): void {
    this.#timer = undefined
    while (this.#unsaid.length > 0) {
      if (!say(this.#unsaid[0]!)) {
        this.#timer = setTimeout(() => this.#sayAgain(say), AGAIN_MS)
        return
      }
      this.#unsaidBytes -= this.#unsaid.shift()!.body.length
    }
  }
}

/** A value that nobody gets. */
function discard(value: unknown): void {
  if (value instanceof ReadableStream && !value.locked) value.cancel().catch(() => {})
}

/** What a program told as the error of its stream: never anything but an error. */
function toThrown(told: unknown): unknown {
  return told instanceof Error ? told : new Error('The stream of the program broke off')
}

/** Requests that a function of the host is asked for one request of a program. */
const MAX_SUB_REQUESTS = 1000

interface Answer {
  readonly head: ResponseHead
  readonly body: AsyncIterable<Uint8Array>
  cancel(): void
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function toMessage(head: HostHead): Omit<Message, 'id'> {
  return { head: encoder.encode(JSON.stringify(head)), body: NOTHING }
}

/** The words of a head; none where it is no list. */
function toWords(head: Uint8Array): readonly unknown[] {
  if (head.length > MAX_HEAD) return []
  try {
    const words: unknown = JSON.parse(decoder.decode(head))
    return Array.isArray(words) ? words : []
  } catch {
    return []
  }
}

/** The body of a request: whole where the program said so. Rejects for one of another length. */
async function toBody(
  { length }: RequestHead,
  inbox: Inbox | null,
): Promise<Inbox | Uint8Array<ArrayBuffer> | null> {
  if (inbox === null || length === undefined) return inbox
  const bytes = new Uint8Array(length)
  let at = 0
  for await (const piece of inbox) {
    if (at + piece.length > length) throw new CallError('Cannot fetch: more of a body than was announced')
    bytes.set(piece, at)
    at += piece.length
  }
  if (at < length) throw new CallError('Cannot fetch: less of a body than was announced')
  return bytes
}

/** A request as it was told; null for what is none. */
function toRequest(told: unknown): RequestHead | null {
  if (typeof told !== 'object' || told === null) return null
  const { url, method, headers, redirect, hasBody, length } = told as Record<string, unknown>
  if (
    typeof url !== 'string' || typeof method !== 'string' || typeof hasBody !== 'boolean' ||
    !Array.isArray(headers)
  ) return null
  if (redirect !== 'follow' && redirect !== 'manual' && redirect !== 'error') return null
  if (length !== undefined && !isLength(length)) return null
  const pairs = headers.filter((pair): pair is [string, string] =>
    Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string')
  )
  return pairs.length === headers.length ? { url, method, headers: pairs, redirect, hasBody, length } : null
}

function isLength(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_WHOLE
}
