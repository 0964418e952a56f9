/** Two ports that send each other copies. https://html.spec.whatwg.org/multipage/web-messaging.html#message-channels */
import { DOMException } from './dom_exception.ts'
import { Event } from './event.ts'
import { EventHandler, EventTarget } from './event_target.ts'
import { host } from './host.ts'
import { structuredClone } from './structured_clone.ts'
import { expose, need, toText } from './webidl.ts'

const KEY = Symbol('MessagePort')

/** What came through a port. */
export class MessageEvent extends Event {
  readonly #data: unknown
  readonly #origin: string
  readonly #lastEventId: string
  readonly #source: unknown
  readonly #ports: readonly unknown[]

  constructor(type: unknown, init?: unknown) {
    need(arguments.length, 1, 'new MessageEvent')
    super(type, init)
    const { data = null, origin = '', lastEventId = '', source = null, ports = [] } = Object(init)
    this.#data = data
    this.#origin = toText(origin)
    this.#lastEventId = toText(lastEventId)
    this.#source = source
    this.#ports = Object.freeze([...ports as Iterable<unknown>])
  }

  get data(): unknown {
    return this.#data
  }

  get origin(): string {
    return this.#origin
  }

  get lastEventId(): string {
    return this.#lastEventId
  }

  get source(): unknown {
    return this.#source
  }

  get ports(): readonly unknown[] {
    return this.#ports
  }
}

expose(MessageEvent, 'MessageEvent')

/** Makes the two ports of a channel each other's. */
let entangle: (one: MessagePort, two: MessagePort) => void

export class MessagePort extends EventTarget {
  #other: MessagePort | null = null
  /** Messages before the port was started; null from then on. */
  #early: unknown[] | null = []
  readonly #onmessage = new EventHandler()
  readonly #onmessageerror = new EventHandler()

  static {
    entangle = (one, two) => {
      one.#other = two
      two.#other = one
    }
  }

  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: MessagePort')
    super()
  }

  /** Sends a copy of the message; what is sent before the other side is started waits there. */
  postMessage(message: unknown, options?: unknown): void {
    need(arguments.length, 1, 'MessagePort.postMessage')
    const transfer = Symbol.iterator in Object(options) ? options : Object(options).transfer
    if (transfer !== undefined && [...transfer].some((item: unknown) => item instanceof MessagePort)) {
      throw new DOMException(
        "Cannot send a port through a port in the runtime 'core', want isolated = { runtime: 'deno' }",
        'DataCloneError',
      )
    }
    const data = structuredClone(message, { transfer })
    const other = this.#other
    if (other !== null) other.#take(data)
  }

  start(): void {
    const early = this.#early ?? []
    this.#early = null
    for (const data of early) this.#deliver(data)
  }

  close(): void {
    const other = this.#other
    this.#other = null
    if (other !== null) other.#other = null
  }

  get onmessage(): unknown {
    return this.#onmessage.value
  }

  set onmessage(value: unknown) {
    this.#onmessage.set(this, 'message', value)
    this.start()
  }

  get onmessageerror(): unknown {
    return this.#onmessageerror.value
  }

  set onmessageerror(value: unknown) {
    this.#onmessageerror.set(this, 'messageerror', value)
  }

  #take(data: unknown): void {
    if (this.#early === null) this.#deliver(data)
    else this.#early.push(data)
  }

  /** Each message is a task of its own. */
  #deliver(data: unknown): void {
    const run = () => void this.dispatchEvent(new MessageEvent('message', { data }))
    host.startTimer(run, 0, false)
  }
}

expose(MessagePort, 'MessagePort')

export class MessageChannel {
  readonly #ports = [new MessagePort(KEY), new MessagePort(KEY)] as const

  constructor() {
    entangle(...this.#ports)
  }

  get port1(): MessagePort {
    return this.#ports[0]
  }

  get port2(): MessagePort {
    return this.#ports[1]
  }
}

expose(MessageChannel, 'MessageChannel')
