/** The context of an isolated handler: the same class as on the host, over a request that is data. */
import { RequestContext } from '../../context/context.ts'
import { RequestReader } from '../../context/get.ts'
import { ResponseSender } from '../../context/send.ts'
import type { ContextEnv } from '../../context/types.ts'
import type { ContextHost, RequestState } from '../../context/state.ts'
import { createBus } from '../../events/bus.ts'
import type { PendingData } from '../wire/message.ts'
import type { RequestExtras } from '../wire/request_line.ts'
import { BODY_MAX } from '../wire/wire.ts'
import { createHead, type GuestHead } from './http/head.ts'
import { LazyRequest } from './http/request.ts'
import { PLAIN_HEADS, type PlainHead } from './http/plain_head.ts'
import { LazyResponse, ViewResponse } from './http/response.ts'

/** What a context needs of its owner. Only data leaves a guest: no files, no sockets, no pool. */
export function createGuestHost(env: ContextEnv = {}): ContextHost {
  return {
    bus: createBus(),
    env,
    // The host has applied its limit before the request came here.
    maxBodyBytes: BODY_MAX,
    isTrustedProxy: () => false,
    worker: undefined,
    render: (_state, name, data, options) => new ViewResponse(name, data, options ?? {}),
    sendFile: (_state, path) =>
      Promise.reject(
        new TypeError(
          `Cannot send the file ${
            JSON.stringify(path)
          }: an isolated handler reaches no files of the host, want router.static or a route that is not isolated`,
        ),
      ),
    streams: new Set(),
    streamFailed: (state, error) =>
      console.error(`mayfly: the stream of ${state.method} ${state.pathname} broke\n`, error),
    sockets: new Set(),
  }
}

/** One request in a guest. It is made before its frame comes, with all that is not in the frame. */
export class GuestContext extends RequestContext {
  readonly head: GuestHead
  /** `ctx.state` as it came, as JSON; '' when none came. */
  stateText = ''
  /** Its frame has been written. */
  answered = false
  readonly #reader = new GuestReader(this)
  readonly #sender = new GuestSender(this)

  constructor(host: ContextHost) {
    const head = createHead()
    super(host, new LazyRequest(head) as unknown as Request, undefined, '', '', '')
    this.head = head
    this.isolated = true
  }

  /** Takes the request that has come into {@link head}. */
  begin(): void {
    const { head } = this
    const { line } = head
    place(this, line[1], line[2], line[3])
    if (line[6] !== '') this.#takeExtras(JSON.parse(line[6]))
    // One that comes piece by piece is the request's.
    if (head.body.length > 0 && !head.hasRest) this.body = Promise.resolve(head.body)
  }

  #takeExtras(extras: RequestExtras): void {
    const params = extras[0], pending = extras[1], state = extras[2]
    const session = extras[3], validated = extras[4], status = extras[5]
    if (params) this.params = Object.assign(Object.create(null), params)
    if (pending) this.pending = toPending(pending)
    if (session) this.session = { data: session.data, changed: false }
    if (validated) this.validated = { value: validated.value }
    if (status) this.status = status
    if (extras[6]) this.head.hasRest = true
    if (!state) return
    this.bag = { ...state }
    this.stateText = JSON.stringify(state)
  }

  override get get(): RequestReader {
    return this.#reader
  }

  override get send(): ResponseSender {
    return this.#sender
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function place(state: Mutable<RequestState>, method: string, url: string, pathname: string): void {
  state.method = method
  state.url = url
  state.pathname = pathname
}

function toPending({ single, appended }: PendingData): RequestState['pending'] {
  return { single: new Map(single), appended: appended as [string, string][] }
}

class GuestReader extends RequestReader {
  readonly #context: GuestContext

  constructor(context: GuestContext) {
    super(context)
    this.#context = context
  }

  override ip(options?: { direct?: boolean }): string | undefined {
    const { line } = this.#context.head
    return (options?.direct ? line[5] : line[4]) || undefined
  }
}

class GuestSender extends ResponseSender {
  readonly #context: GuestContext

  constructor(context: GuestContext) {
    super(context)
    this.#context = context
  }

  override json(data: unknown, init?: ResponseInit): Response {
    if (init !== undefined || !isPlain(this.#context)) return super.json(data, init)
    const text = JSON.stringify(data)
    return text === undefined ? super.json(data) : toLazy(text, PLAIN_HEADS.json)
  }

  override text(text: string, init?: ResponseInit): Response {
    if (init !== undefined || typeof text !== 'string' || !isPlain(this.#context)) {
      return super.text(text, init)
    }
    return toLazy(text, PLAIN_HEADS.text)
  }

  override html(html: string, init?: ResponseInit): Response {
    if (init !== undefined || typeof html !== 'string' || !isPlain(this.#context)) {
      return super.html(html, init)
    }
    return toLazy(html, PLAIN_HEADS.html)
  }
}

/** Nothing but the defaults would go into the response. What `ctx.set` collected is the host's to add, but for another type. */
function isPlain({ pending, status, method }: GuestContext): boolean {
  return status === 0 && method !== 'HEAD' && (pending === null || !pending.single.has('content-type'))
}

function toLazy(text: string, head: PlainHead): Response {
  return new LazyResponse(text, head) as unknown as Response
}
