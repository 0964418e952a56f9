/**
 * What a program in a machine and the host say to each other while a request is under way. An exchange has a number, which the program
 * chooses; `head` is JSON, `body` bytes.
 *
 * ```text
 * program                          host
 * ["call", binding, member] args   ->
 *                                  <-  ["value"] value   or   ["error"] error
 * ["call", binding, member, n] args            ->   n bytes of JSON: an array
 * ["call", binding, member, n, "bytes"] args   ->   and behind them the last argument, as bytes
 *                                  <-  ["value"] JSON   or   ["bytes"] bytes   or   ["error", name, code] message, as UTF-8
 * ["fetch", binding, request]      ->
 * ["piece"] bytes ... ["end"]      ->  the body of the request, where it has one
 *                                  <-  ["more", bytes]   so much of it was taken
 *                                  <-  ["response", response]
 *                                  <-  ["piece"] bytes ... ["end"]   or   ["error"] error
 * ["more", bytes]                  ->  so much of it was read
 * ["cancel"]                       ->  nobody waits any longer
 * ```
 * A stream among the arguments or in the value of a call is an exchange of its own, which the value names: an odd number of the
 * program's, an even one of the host's. Whoever has the stream sends it:
 * ```text
 * ["piece"] bytes, ["chunk"] value ... ["end"]   or   ["error"] error   ->
 *                                  <-  ["more", cost]   so much of it was read
 *                                  <-  ["cancel"]   nobody reads any longer
 * ```
 * The body of a request that is larger than what came with it is an exchange too. It begins when the program asks for it:
 * ```text
 * ["body"]                         ->
 *                                  <-  ["piece"] bytes ... ["end"]   or   ["error"] error
 * ["more", bytes]                  ->  so much of it was read; all of it: the program waits for the next
 * ["cancel"]                       ->  nobody reads any longer
 * ```
 * A response that leaves piece by piece is an exchange too, and the program's last one:
 * ```text
 * ["answer"] head   ["piece"] bytes ... ["end"]   ->
 *                                  <-  ["more", bytes]   so much of it was read
 *                                  <-  ["cancel"]   nobody reads any longer
 * ```
 * A WebSocket is one as well. A message takes room of {@link SOCKET_WINDOW}, as {@link toSocketCost} says.
 * ```text
 * ["upgrade", protocol]            ->
 *                                  <-  ["open"]
 * ["text"] bytes, ["binary"] bytes <-> the same
 *                                  <-  ["more", room]   so much more of it
 * ["close", code, reason]          <-> the same
 * ```
 * Either side sends at most {@link WINDOW} bytes of a body ahead of the other's `more`.
 */

/** A message. */
export interface Message {
  readonly id: number
  readonly head: Uint8Array<ArrayBuffer>
  readonly body: Uint8Array<ArrayBuffer>
}

/** Begins an exchange, or goes on with one. */
export type GuestHead =
  | readonly ['call', binding: string, member: string | null]
  | readonly ['call', binding: string, member: string | null, jsonBytes: number, beside?: 'bytes']
  | readonly ['fetch', binding: string | null, request: RequestHead]
  | readonly ['answer']
  | readonly ['body']
  | readonly ['upgrade', protocol: string]
  | readonly ['text']
  | readonly ['binary']
  | readonly ['close', code: number, reason: string]
  | readonly ['piece']
  | readonly ['chunk']
  | readonly ['end']
  | readonly ['error']
  | readonly ['more', bytes: number]
  | readonly ['cancel']

/** Goes on with an exchange. */
export type HostHead =
  | readonly ['value']
  | readonly ['bytes']
  | readonly ['error']
  | readonly ['error', name: string, code: string | null]
  | readonly ['response', response: ResponseHead]
  | readonly ['chunk']
  | readonly ['piece']
  | readonly ['end']
  | readonly ['more', bytes: number]
  | readonly ['cancel']
  | readonly ['open']
  | readonly ['text']
  | readonly ['binary']
  | readonly ['close', code: number, reason: string]

/** What a program fetches. */
export interface RequestHead {
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly redirect: 'follow' | 'manual' | 'error'
  readonly hasBody: boolean
  /** Bytes of a body that was whole when it was sent, at most {@link MAX_WHOLE}: it can be sent again, and its server is told its length. */
  readonly length?: number | undefined
}

/** What it gets. */
export interface ResponseHead {
  readonly status: number
  readonly statusText?: string | undefined
  readonly headers: readonly (readonly [string, string])[]
  readonly url: string
  readonly redirected: boolean
  readonly hasBody: boolean
}

/** What a program is told of its bindings: their names, and those of their functions; null: it is a function; '*': whatever it is asked for. */
export type BindingNames = readonly (readonly [name: string, members: readonly string[] | null | '*'])[]

/** What a program is told of all that it reaches. */
export interface ReachNames {
  readonly bindings: BindingNames
  /** `fetch` leads somewhere. */
  readonly fetches: boolean
  /** What calls give while the program is warmed up, when the host hears nothing: the texts of encoded values. */
  readonly samples?: readonly Sample[] | undefined
}

/** A value that a call might give. */
export type Sample = readonly [binding: string, member: string | null, value: string]

/** Exchanges of one request that are under way at the same time; a program waits with what is more. */
export const MAX_UNDER_WAY = 64
/** Bytes of a message's head. */
export const MAX_HEAD = 1 << 16
/** Bytes of arguments, and of a value. */
export const MAX_VALUE = 1 << 20
/** Bytes of a piece of a body. */
export const PIECE = 1 << 16
/** Bytes of a body that are on their way. */
export const WINDOW = 4 * PIECE
/** Bytes of a request's body that the host has whole before it asks: no more than it holds of a stream. */
export const MAX_WHOLE = WINDOW
/** Streams of the calls of one request, each way, that are open at the same time. */
export const MAX_STREAMS = 16
/** What a chunk that is no bytes takes of a window beside its own bytes; one never takes more than all of it. */
const CHUNK_COST = 4096
/** Room for messages of a WebSocket that a program sent and its client has not taken; the last one may be over it. */
export const SOCKET_WINDOW = 1 << 20
/** What a message takes of it beside its bytes. */
const SOCKET_MESSAGE = 256
/** Arguments of a call. */
export const MAX_ARGUMENTS = 32

/** What a chunk of so many bytes takes of a window. */
export function toChunkCost(bytes: number): number {
  return Math.min(WINDOW, bytes + CHUNK_COST)
}

/** Room that a message of a WebSocket takes. */
export function toSocketCost(bytes: number): number {
  return bytes + SOCKET_MESSAGE
}
