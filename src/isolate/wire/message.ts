/**
 * The JSON headers of frames. Bulky things travel as the body: a request's body, a response's body, the data of a view.
 *
 * The header of a request is three lines, so that a guest parses no more than a handler looks at, and always something of
 * one shape: code that was optimised for another would be given up in every request.
 *
 * ```text
 * handler ⇥ method ⇥ url ⇥ path ⇥ ip ⇥ peer ⇥ extras      see request_line.ts
 * ["host","localhost","accept","*\/*"]                    headers, name and value in turn
 * 5f1c...                                                 the seed: 64 hex digits
 * ```
 *
 * That of a control frame is one JSON object.
 */

/** Marks the requests of a warm-up. */
export const WARMUP_HEADER = 'x-mayfly-warmup'

/** Argument of a guest that no channel leads to. */
export const ALONE = 'alone'

/** Headers as they came, a name that repeats as more than one pair. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** What `ctx.set` collected, on its way to the response. Of middleware's only the headers that have a default come to a handler. */
export interface PendingData {
  readonly single: HeaderPairs
  readonly appended: HeaderPairs
}

/** A request on its way to a handler; the frame's body is the request's. */
export interface RequestHead {
  /** Index of the handler in the program. */
  readonly handler: number
  readonly method: string
  readonly url: string
  /** Percent-encoded path, dot segments resolved. */
  readonly path: string
  readonly headers: HeaderPairs
  /** 64 hex digits of entropy, new for every request. */
  readonly seed: string
  /** Route parameters, decoded. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** The client's address as `ctx.get.ip()` gives it, and the peer of the socket. */
  readonly ip?: string | undefined
  readonly peer?: string | undefined
  /** `ctx.state` as far as it has a JSON form. */
  readonly state?: Readonly<Record<string, unknown>> | undefined
  /** Present on routes with a session; null inside without a session's data. */
  readonly session?: { readonly data: object | null } | undefined
  /** What the `validate` middleware accepted. */
  readonly validated?: { readonly value: unknown } | undefined
  readonly pending?: PendingData | undefined
  /** From `ctx.set.status`. */
  readonly status?: number | undefined
  /** The frame's body is the beginning of the request's: the handler asks for the rest. */
  readonly hasRest?: boolean | undefined
}

/** Asks a program about its handlers; answered by {@link DescribeAnswer}. */
export interface DescribeHead {
  readonly control: 'describe'
}

/** Draws `count` 32-bit numbers from Deno's own generator; answered by an empty {@link ControlAnswer}. */
export interface DrawHead {
  readonly control: 'draw'
  readonly count: number
}

/** Calls the `beforeSnapshot` of each module behind the warm-up; answered by {@link HookAnswer}. */
export interface BeforeSnapshotHead {
  readonly control: 'before-snapshot'
  /** 64 hex digits of entropy, for what the hooks draw: the frames of the warm-up bring the same at every load. */
  readonly seed: string
}

/** Comes last before the snapshot: makes the program's memory small; answered by an empty {@link ControlAnswer}. */
export interface SettleHead {
  readonly control: 'settle'
}

/** Asks how much code the runtime has compiled; answered by {@link CompiledAnswer}. */
export interface CompiledHead {
  readonly control: 'compiled'
}

/** What is asked of the program itself. */
export type ControlHead = DescribeHead | DrawHead | BeforeSnapshotHead | SettleHead | CompiledHead

/**
 * Makes a base load the program that lies at `name`, as a module. It does not answer: the program takes the next frame. One that
 * cannot be loaded ends the guest, with the reason on its standard error.
 */
export interface LoadHead {
  readonly control: 'load'
  readonly name: string
  /** What the program may have in memory; its text counts. */
  readonly memoryBytes: number
  /** 64 hex digits of entropy. */
  readonly seed: string
}

/** An error as data. Strings are cut at {@link MAX_ERROR_TEXT} characters, chains of causes at {@link MAX_CAUSES}. */
export interface ErrorData {
  readonly name: string
  readonly message: string
  /** As V8 wrote it: positions are those of the bundle. */
  readonly stack?: string | undefined
  /** Present for an `HttpError`: its message is for the client. */
  readonly http?: {
    readonly status: number
    readonly type: string
    readonly headers?: Readonly<Record<string, string>>
    readonly details?: Readonly<Record<string, unknown>>
  } | undefined
  readonly cause?: ErrorData | undefined
}

export const MAX_ERROR_TEXT = 8192
export const MAX_CAUSES = 5

/** What a guest answers to a request. The frame's body is the response's, or the data of `view` as JSON. */
export interface ResponseHead {
  /** 200 to 599; absent when `error` is there. */
  readonly status?: number | undefined
  readonly statusText?: string | undefined
  readonly headers?: HeaderPairs | undefined
  readonly error?: ErrorData | undefined
  /** The error is that the answer would have been over its limit. */
  readonly over?: boolean | undefined
  /** The response is this view, rendered by the host. */
  readonly view?: {
    readonly name: string
    readonly options?: { readonly status?: number; readonly stream?: boolean; readonly headers?: HeaderPairs }
  } | undefined
  /** What `ctx.set` has collected by now, what came with the request included; absent when there is none. */
  readonly pending?: PendingData | undefined
  /** From `ctx.set.status`, for what the host makes of an error or a view. */
  readonly setStatus?: number | undefined
  /** `ctx.set.session` was called with this. */
  readonly session?: { readonly data: object | null } | undefined
  /** `ctx.state`, when the handler changed it. */
  readonly state?: Readonly<Record<string, unknown>> | undefined
}

/** The answer to {@link DescribeHead}: for each handler its name and, if its module failed, the error. */
export interface DescribeAnswer {
  readonly handlers: readonly { readonly name: string; readonly error?: ErrorData }[]
}

/** The answer to {@link BeforeSnapshotHead}: what the first hook that failed threw, and the index of its module. */
export interface HookAnswer {
  readonly failed?: { readonly module: number; readonly error: ErrorData }
}

/** The answer to {@link CompiledHead}: bytes of machine code. */
export interface CompiledAnswer {
  readonly codeBytes: number
}

/** The answer to a control frame that asks nothing. */
export type ControlAnswer = Readonly<Record<string, never>>
