/** What a request and the host say to each other while the request is under way. Meaning is not the channel's: it carries messages. */

/** One message, either way. */
export interface HostMessage {
  /**
   * The exchange that it belongs to: an integer below 2 ** 32, odd where the program began it and even where the host did. 0 is the
   * channel's own.
   */
  readonly id: number
  /** JSON as UTF-8, at most {@linkcode MESSAGE_HEAD_MAX} bytes. What a program said was checked by nobody. */
  readonly head: Uint8Array<ArrayBuffer>
  /** At most {@linkcode MESSAGE_BODY_MAX} bytes. */
  readonly body: Uint8Array<ArrayBuffer>
}

/**
 * Says something to the program. False, and nothing is said, where the request has ended, or where the program left as much unread as may
 * wait for it. Throws `RangeError` for a part over its limit.
 */
export type Say = (message: HostMessage) => boolean

/** Gives the request so many milliseconds from now on, in place of its time. Does nothing once it has ended. */
export type Extend = (ms: number) => void

/** The host's side of one request. */
export interface HostChannel {
  /** Called for each message of the program, in their order and never within itself. What it throws ends the request. */
  hear(message: HostMessage, say: Say, extend: Extend): void
  /** The request has ended, however: nothing can be said any more. Called once, unless the request was refused and never began. */
  end(): void
  /** Ends the request: at once where it is parked, else where its machine is next looked at. */
  readonly signal?: AbortSignal | undefined
}
