/** A program's side of its exchanges with the host. It runs inside the machine, in every runtime. */
import { decodeValue } from '../../values/decode.ts'
import { encodeValue, joinMessage } from '../../values/encode.ts'
import { ReceivedStream, type SayOf, SentStream, type StreamEnd } from '../calls/streams.ts'
import {
  type GuestHead,
  type HostHead,
  MAX_STREAMS,
  MAX_UNDER_WAY,
  MAX_VALUE,
  type Message,
  type Sample,
} from '../calls/protocol.ts'

/** What carries messages to the host and back. */
export interface Channel {
  send(message: Message): void
  /** `waits`: whether an answer is awaited, for which the program waits when it has nothing else to do. */
  listen(listener: (message: Message) => void, waits: () => boolean): void
}

/** Exchange by which the channel itself says that the host hears nothing of this request. */
const CLOSED = 0

/** Hears what the host says of one exchange; true: it is over. `unheard`: the host hears nothing, and nothing comes from it. */
type Ear = (head: HostHead, body: Uint8Array<ArrayBuffer>, unheard: boolean) => boolean

/** The `code` of errors in a warm-up. */
const UNHEARD = 'ERR_MAYFLY_WARMUP'
const NOTHING = new Uint8Array(0)
const { parse, stringify } = JSON
const { apply } = Reflect
const encoder = new TextEncoder()
const decoder = new TextDecoder()
const encode = (text: string) =>
  apply(TextEncoder.prototype.encode, encoder, [text]) as Uint8Array<ArrayBuffer>
const decode = (bytes: Uint8Array) => apply(TextDecoder.prototype.decode, decoder, [bytes]) as string

/** Head of an answer that is a value. */
const VALUE = encode('["value"]')

/** Exchanges of the request that is under way. */
export class Exchanges {
  readonly #channel: Channel
  readonly #ears = new Map<number, Ear>()
  readonly #waiting: (() => void)[] = []
  /** Encoded values by the names of calls. */
  readonly #samples = new Map<string, Uint8Array<ArrayBuffer>>()
  #next = 1
  /** Streams of calls that are open. */
  readonly #streams = new Set<number>()
  #isOver: () => boolean = () => true

  constructor(channel: Channel) {
    this.#channel = channel
    channel.listen((message) => this.#hear(message), () => this.#ears.size > 0)
  }

  /** What calls give in a warm-up. */
  practise(samples: readonly Sample[]): void {
    for (const [binding, member, value] of samples) this.#samples.set(nameOf(binding, member), encode(value))
  }

  /** A request begins, and is over when `isOver` says so: then the host hears no more. What was under way in the last one is over. */
  begin(isOver: () => boolean): void {
    this.#isOver = isOver
    if (this.#ears.size === 0) return
    this.#ears.clear()
    this.#streams.clear()
    this.#waiting.length = 0
  }

  /** Calls a function of the host, by its name. */
  async call(binding: string, member: string | null, args: readonly unknown[]): Promise<unknown> {
    const signal = takeSignal(args)
    const given = signal === undefined ? args : withoutSignal(args)
    signal?.throwIfAborted()
    const name = nameOf(binding, member)
    const streams = new Map<number, SentStream>()
    let body: Uint8Array<ArrayBuffer>
    try {
      body = joinMessage(encodeValue(given, { stacks: false, hand: (object) => this.#hand(object, streams) }))
    } catch (error) {
      this.#drop(streams, error)
      throw error
    }
    if (body.length > MAX_VALUE) {
      this.#drop(streams, null)
      throw new RangeError(
        `Cannot call ${name}: arguments of ${body.length} bytes, want at most ${MAX_VALUE}`,
      )
    }
    let id: number
    try {
      id = await this.start()
    } catch (error) {
      this.#drop(streams, error)
      throw error
    }
    return await new Promise((resolve, reject) => {
      const cancel = () => {
        this.stop(id)
        this.#drop(streams, signal!.reason)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', cancel)
      this.send(id, ['call', binding, member], body, ([verb], told, unheard) => {
        const sample = unheard ? this.#samples.get(name) : undefined
        if (sample !== undefined) {
          // As the host says it: V8 learns the way of an answer, to the last step.
          this.#hear({ id, head: VALUE, body: sample })
          return true
        }
        signal?.removeEventListener('abort', cancel)
        try {
          const value = decodeValue(told, { toHanded: (id) => this.#receive(id) })
          if (verb === 'value') resolve(value)
          else reject(toThrown(value))
        } catch (error) {
          reject(error)
        }
        return true
      })
      for (const [id, stream] of streams) stream.send(() => this.finish(id))
    })
  }

  /** The number of an exchange that brings a stream to the host. */
  #hand(object: object, streams: Map<number, SentStream>): number | undefined {
    if (!(object instanceof ReadableStream)) return undefined
    if (this.#streams.size >= MAX_STREAMS) {
      throw new RangeError(`Cannot pass a stream: ${MAX_STREAMS} are open, want at most that`)
    }
    const id = this.#take()
    const stream = new SentStream(object, this.#sayOf(id), (error) => error)
    streams.set(id, stream)
    this.#open(id, stream)
    return id
  }

  /** A stream that the host sends. */
  #receive(id: number): ReadableStream<unknown> {
    const stream = new ReceivedStream(this.#sayOf(id), toThrown, () => this.finish(id))
    this.#open(id, stream)
    return stream.stream
  }

  #open(id: number, stream: StreamEnd): void {
    this.#streams.add(id)
    this.#ears.set(id, ([verb, word], body) => stream.hear(verb, word, body))
  }

  #sayOf(id: number): SayOf {
    return (head, body) => {
      if (this.has(id) || head[0] === 'cancel') this.send(id, head, body)
    }
  }

  /** Streams of a call that never was, or that nobody waits for. */
  #drop(streams: ReadonlyMap<number, SentStream>, reason: unknown): void {
    for (const [id, stream] of streams) {
      stream.stop(reason)
      this.finish(id)
    }
  }

  /** A number for an exchange, once there is room for one more. */
  async start(): Promise<number> {
    if (this.#isOver()) throw new TypeError('Cannot call the host: the request has been answered')
    while (this.#ears.size - this.#streams.size >= MAX_UNDER_WAY) {
      await new Promise<void>((go) => this.#waiting.push(go))
    }
    const id = this.#take()
    // Holds the place until the first message.
    this.#ears.set(id, () => false)
    return id
  }

  #take(): number {
    const id = this.#next
    this.#next += 2
    return id
  }

  /** Says something in an exchange; `ear` hears what comes in it from now on. */
  send(id: number, head: GuestHead, body: Uint8Array<ArrayBuffer> = NOTHING, ear?: Ear): void {
    if (ear !== undefined) this.#ears.set(id, ear)
    this.#channel.send({ id, head: encode(stringify(head)), body })
  }

  /** Whether the exchange goes on. */
  has(id: number): boolean {
    return this.#ears.has(id)
  }

  /** An exchange is over, and both sides know that. */
  finish(id: number): void {
    if (this.#ears.has(id)) this.#over(id)
  }

  /** Calls an exchange off. */
  stop(id: number): void {
    if (!this.#ears.has(id)) return
    this.#over(id)
    if (!this.#isOver()) this.send(id, ['cancel'])
  }

  #hear({ id, head, body }: Message): void {
    if (id === CLOSED) return this.#close()
    const ear = this.#ears.get(id)
    if (ear === undefined) return
    if (ear(parse(decode(head)), body, false)) this.#over(id)
  }

  /** Nobody hears this request: a warm-up. */
  #close(): void {
    const error = Object.assign(
      new TypeError('Cannot call the host: it hears nothing while a program is warmed up'),
      { code: UNHEARD },
    )
    const told = joinMessage(encodeValue(error, { stacks: false }))
    for (const [id, ear] of [...this.#ears]) {
      ear(['error'], told, true)
      this.finish(id)
    }
  }

  #over(id: number): void {
    this.#ears.delete(id)
    // A place that it did not hold is nobody's.
    if (this.#streams.delete(id)) return
    this.#waiting.shift()?.()
  }
}

/** An error of the host, with a stack that says who called. */
export function toThrown(value: unknown): unknown {
  if (value instanceof Error) {
    Object.defineProperty(value, 'stack', {
      value: `${value.name}: ${value.message}`,
      configurable: true,
      writable: true,
    })
  }
  return value
}

function nameOf(binding: string, member: string | null): string {
  return member === null ? binding : `${binding}.${member}`
}

/** A signal among the last argument's members, or as the last argument. */
function takeSignal(args: readonly unknown[]): AbortSignal | undefined {
  const last = args[args.length - 1]
  if (last instanceof AbortSignal) return last
  const { signal } = (typeof last === 'object' && last !== null ? last : {}) as { signal?: unknown }
  return signal instanceof AbortSignal ? signal : undefined
}

function withoutSignal(args: readonly unknown[]): readonly unknown[] {
  const last = args[args.length - 1]
  if (last instanceof AbortSignal) return args.slice(0, -1)
  const { signal: _, ...rest } = last as Record<string, unknown>
  return [...args.slice(0, -1), rest]
}
