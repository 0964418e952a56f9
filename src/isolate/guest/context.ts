/** The context of an isolated handler: the same class as on the host, over a request that is data. */
import { RequestContext } from '../../context/context.ts'
import { RequestReader } from '../../context/get.ts'
import { ResponseSender } from '../../context/send.ts'
import type { ContextHost, RequestState } from '../../context/state.ts'
import { createBus } from '../../events/bus.ts'
import type { PendingData, RequestHead } from '../message.ts'
import { BODY_MAX } from '../wire.ts'
import { LazyRequest } from './request.ts'
import { LazyResponse, type PlainType, ViewResponse } from './response.ts'

/** What a context needs of whoever runs it. Only data leaves a guest: no files, no sockets, no pool. */
export function createGuestHost(): ContextHost {
  return {
    bus: createBus(),
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

/** One request in a guest. */
export class GuestContext extends RequestContext {
  readonly head: RequestHead
  readonly lazy: LazyRequest
  /** `ctx.state` as it came, as JSON; '' when none came. */
  readonly stateText: string
  /** The last response that `ctx.send` made of a stream: it may never end. */
  streamed: Response | null = null
  /** Its frame has been written. */
  answered = false
  #reader: GuestReader | null = null
  #sender: GuestSender | null = null

  constructor(host: ContextHost, head: RequestHead, body: Uint8Array<ArrayBuffer>) {
    const lazy = new LazyRequest(head.method, head.url, head.headers, body)
    super(host, lazy as unknown as Request, undefined, head.method, head.url, head.path)
    this.head = head
    this.lazy = lazy
    this.isolated = true
    if (body.length > 0) this.body = Promise.resolve(body)
    if (head.params !== undefined) this.params = Object.assign(Object.create(null), head.params)
    if (head.state !== undefined) this.bag = { ...head.state }
    this.stateText = head.state === undefined ? '' : JSON.stringify(head.state)
    if (head.session !== undefined) this.session = { data: head.session.data, changed: false }
    if (head.validated !== undefined) this.validated = { value: head.validated.value }
    if (head.pending !== undefined) this.pending = toPending(head.pending)
    if (head.status !== undefined) this.status = head.status
  }

  override get get(): RequestReader {
    return this.#reader ??= new GuestReader(this)
  }

  override get send(): ResponseSender {
    return this.#sender ??= new GuestSender(this)
  }
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

  override request(): Request {
    return this.#context.lazy.real
  }

  override ip(options?: { direct?: boolean }): string | undefined {
    const { head } = this.#context
    return options?.direct ? head.peer : head.ip
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
    return text === undefined ? super.json(data) : toLazy(text, 'application/json')
  }

  override text(text: string, init?: ResponseInit): Response {
    if (init !== undefined || typeof text !== 'string' || !isPlain(this.#context)) {
      return super.text(text, init)
    }
    return toLazy(text, 'text/plain; charset=utf-8')
  }

  override html(html: string, init?: ResponseInit): Response {
    if (init !== undefined || typeof html !== 'string' || !isPlain(this.#context)) {
      return super.html(html, init)
    }
    return toLazy(html, 'text/html; charset=utf-8')
  }

  override stream(...args: Parameters<ResponseSender['stream']>): Response {
    return this.#context.streamed = super.stream(...args)
  }

  override sse(...args: Parameters<ResponseSender['sse']>): Response {
    return this.#context.streamed = super.sse(...args)
  }
}

/** Nothing but the defaults would go into the response. What `ctx.set` collected is the host's to add, but for another type. */
function isPlain({ pending, status, method }: GuestContext): boolean {
  return status === 0 && method !== 'HEAD' && (pending === null || !pending.single.has('content-type'))
}

function toLazy(text: string, type: PlainType): Response {
  return new LazyResponse(text, type) as unknown as Response
}
