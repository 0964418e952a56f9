/**
 * What the guest's code needs of the runtime that it runs in, beside the Web's globals. The bundle's entry loads the module of its
 * runtime first, which gives it here.
 */
import type { GuestHead } from './http/head.ts'

/** The header of an answer as a runtime makes it, for its own calls alone. */
export type FrameHeader = string | number | Uint8Array<ArrayBuffer>

/** What a module exports, by name. */
export type Namespace = Readonly<Record<string, unknown>>

/** The few calls that differ between runtimes. */
export interface GuestHost {
  /** Nobody hears messages, and none may be said: a worker process. */
  readonly isAlone: boolean
  /**
   * Waits for the next frame on fd 0, without leaving the thread, and puts a request into `head`. Gives the header of a control frame, ''
   * for a request, null at the end of input. Throws for what is no frame.
   */
  receive(head: GuestHead): string | null
  /** Makes a header ready to be sent. */
  toHeader(text: string): FrameHeader
  /** As {@link toHeader}, for one that is sent many times, and as a text's alone. */
  keepHeader(text: string): FrameHeader
  /** Writes a frame on fd 1. False, and nothing written, if the body is over `limit` bytes or a part over what any may have. */
  sendText(header: FrameHeader, body: string, limit: number): boolean
  /** As {@link sendText}. */
  sendBytes(header: FrameHeader, body: Uint8Array, limit: number): boolean
  /** Writes messages to the host on fd 1: whole frames back to back. */
  say(messages: Uint8Array): void
  /**
   * Says `messages` as {@link say}, if there are any, and waits for messages of the host on fd 0, without leaving the thread: gives whole
   * frames back to back, null at the end of input.
   */
  hear(messages: Uint8Array | null): Uint8Array<ArrayBuffer> | null
  /**
   * Hears the host beside the program's timers, which go on: gives `hand` what comes for as long as `awaits`. Called after each flush, and
   * does nothing where the program has no timer: {@link hear} is quicker then.
   */
  hearBesideTimers(hand: (messages: Uint8Array<ArrayBuffer>) => void, awaits: () => boolean): void
  /** Settles when nothing reads beside the program any more; undefined where nothing does. */
  endOfHearing(): Promise<void> | undefined
  /** Whether frames are made and then dropped. */
  discardOutput(yes: boolean): void
  /** Runs the module at `path`, which imports `runtime` as the guest's file. Rejects with what it throws. */
  load(path: string, runtime: Namespace): Promise<unknown>
  /** Does once, for all programs of a base, what the first load would do; `runtime` is as in {@link load}. */
  practiseLoading(runtime: Namespace): Promise<void>
  /** Writes to fd 2 and returns how many bytes were taken. */
  log(bytes: Uint8Array): number
  exit(code: number): never
  /** Prints to standard error from where a program ends itself, until the returned function is called. */
  watchExit(): () => void
  /** Sets how many bytes a request may have in memory, where the runtime knows it before the machine does. */
  limitMemory(bytes: number): void
  /**
   * Makes ready for the instant at which a snapshot is taken: garbage is gone, and what comes lies apart from what is there, so that a
   * snapshot keeps, and a program writes, few pages. A base settles before it waits, a program after its warm-up.
   */
  settle(of: 'base' | 'program'): void
  /** Bytes of machine code that the runtime has made; 0 where it interprets. */
  codeBytes(): number
  /** A value as the console shows it. */
  inspect(value: unknown): string
  /** What the message of an error leaves out; undefined for most. */
  explain(error: unknown): string | undefined
  /**
   * The first error since the last call by which the runtime refused what it cannot do correctly, caught or not: no answer may be built
   * upon its absence.
   */
  takeRefusal(): Error | undefined
  /** Sets what is called when the program has nothing left to do; true from it: there is something again. */
  onIdle(callback: () => boolean): void
  /** Makes the console write by `write`, and everything else that goes to standard output go to standard error. */
  installConsole(write: (text: string) => void): void
  /** Makes the runtime's own HTTP clients, beside `fetch`, ask by it; nothing where it has none. */
  joinHttp(fetch: typeof globalThis.fetch): void
  /** Sets the listener to rejections that nothing handles; the program goes on. */
  onRejection(callback: (reason: unknown) => void): void
}

/** The runtime's. */
export let host: GuestHost

/** Gives the runtime's calls; once, before anything else of the guest. */
export function setHost(given: GuestHost): void {
  host = given
}
