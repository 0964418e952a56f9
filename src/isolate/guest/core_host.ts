/** The guest's host where the runtime is our own, `native/guest-core`. */
import type { RequestLine } from '../wire/request_line.ts'
import { NOTHING } from './http/head.ts'
import { type GuestHost, setHost } from './host.ts'
import { hasMessages, takeMessages } from './outbox.ts'
import { noticeTimer } from './timers.ts'

/** What the runtime gives, as `native/guest-core/src/host.js` makes it and its surface adds to it. */
interface CoreHost {
  /** The fields of the first line of the next frame's header, the lines behind it, and the body if there is one. */
  receive():
    | readonly [
      line: RequestLine | readonly [json: string],
      rest: string,
      body: Uint8Array<ArrayBuffer> | undefined,
    ]
    | null
  /** Keeps a header, and gives it a number. */
  keepHeader(header: string): number
  /** `units`: length of the body. Texts are well-formed. */
  sendKept(header: number, body: string, units: number, limit: number): boolean
  sendText(header: string, body: string, units: number, limit: number): boolean
  sendBytes(header: string, body: Uint8Array, limit: number): boolean
  say(messages: Uint8Array): void
  /** For so many milliseconds at most, negative for ever. */
  hear(milliseconds: number): Uint8Array<ArrayBuffer> | null
  /** Milliseconds until the next timer, -1 without one. */
  untilTimer(): number
  startTimer(callback: () => void, ms: number, repeat: boolean): number
  stopTimer(timer: number): void
  log(bytes: Uint8Array): number
  exit(code: number): never
  /** Makes `code` the module at `url`, which imports find as `name` too; `json` is the module for an import that wants JSON. */
  defineModule(name: string, url: string, code: string, json: string | undefined): void
  /**
   * Runs `code` as the module at `url`; its namespace, and the promise of its end. Undefined for one that {@linkcode defineModule} and an
   * import have to load: it imports others, cannot be compiled, or the engine cannot run modules by themselves.
   */
  runModule(url: string, code: string): readonly [namespace: object, over: Promise<unknown>] | undefined
  limitMemory(bytes: number): void
  settleBase(): void
  settleProgram(): void
  inspect(value: unknown): string
  explain(error: unknown): string | undefined
  takeRefusal(): Error | undefined
  encode(text: string): Uint8Array
  onIdle(callback: () => boolean): void
  onUnhandledRejection(callback: (reason: unknown, promise: Promise<unknown>) => boolean): void
  variables(): [name: string, value: string][]
}

const { __mayfly: core } = globalThis as unknown as { __mayfly: CoreHost }
const { receive, sendKept, sendText, sendBytes, log, startTimer } = core
/** For programs that bring modules along. */
export const { defineModule, runModule } = core
let discards = false
/** Memory of the runtime itself, the program and its modules. */
const OWN_BYTES = 16 << 20

const coreHost: GuestHost = {
  isAlone: false,
  load: (path) => import(`file://${path}`),
  // Nothing in there can end it.
  watchExit: () => () => {},
  practiseLoading: () => Promise.resolve(),
  receive(head) {
    const frame = receive()
    if (frame === null) return null
    const line = frame[0]
    if (line.length === 1) return line[0]
    head.line = line
    head.text = frame[1]
    head.body = frame[2] ?? NOTHING
    return ''
  },
  toHeader: (text) => text,
  keepHeader: core.keepHeader,
  sendText(header, body, limit) {
    if (discards) return true
    flush()
    const text = body.toWellFormed()
    return typeof header === 'number'
      ? sendKept(header, text, text.length, limit)
      : sendText(header as string, text, text.length, limit)
  },
  sendBytes(header, body, limit) {
    if (discards) return true
    flush()
    return sendBytes(header as string, body, limit)
  },
  say(messages) {
    if (!discards) core.say(messages)
  },
  hear(messages) {
    if (messages !== null) core.say(messages)
    return core.hear(-1)
  },
  hearBesideTimers,
  endOfHearing: () => undefined,
  discardOutput(yes) {
    discards = yes
  },
  log,
  exit: core.exit,
  limitMemory: (bytes) => core.limitMemory(bytes + OWN_BYTES),
  settle: (of) => of === 'base' ? core.settleBase() : core.settleProgram(),
  codeBytes: () => 0,
  joinHttp: () => {},
  inspect: (value) => core.inspect(value),
  explain: (error) => core.explain(error),
  takeRefusal: core.takeRefusal,
  onIdle: core.onIdle,
  onRejection: (callback) =>
    core.onUnhandledRejection((reason) => {
      callback(reason)
      return true
    }),
  installConsole(write) {
    // The surface's console writes whole texts by it.
    core.log = (bytes) => {
      write(decoder.decode(bytes))
      return bytes.length
    }
  },
}

const decoder = new TextDecoder()

// The surface makes timers by it.
core.startTimer = (callback, ms, repeat) => {
  const timer = startTimer(callback, ms, repeat)
  noticeTimer(() => core.stopTimer(timer))
  return timer
}

let hears = false

/** Waits for the host until the next timer is due, lets that run, and waits again. */
function hearBesideTimers(hand: (messages: Uint8Array<ArrayBuffer>) => void, awaits: () => boolean): void {
  if (hears || core.untilTimer() < 0) return
  hears = true
  const step = () => {
    hears = false
    if (!awaits()) return
    const wait = core.untilTimer()
    // Without a timer the program is idle, and waits as such.
    if (wait < 0) return
    const messages = core.hear(wait)
    if (messages !== null) hand(messages)
    if (awaits()) hearBesideTimers(hand, awaits)
  }
  startTimer(step, 0, false)
}

/** Messages leave before the answer. */
function flush(): void {
  if (hasMessages()) core.say(takeMessages())
}

/** The environment as Deno gives it, and of Deno nothing else. */
function installEnvironment(): void {
  const variables = new Map(core.variables())
  if (variables.size === 0) return
  const env = {
    get: (name: string) => variables.get(name),
    has: (name: string) => variables.has(name),
    toObject: () => Object.fromEntries(variables),
  }
  Object.defineProperty(globalThis, 'Deno', { value: { env }, writable: true, configurable: true })
}

installEnvironment()
delete (globalThis as unknown as { __mayfly?: CoreHost }).__mayfly
setHost(coreHost)
