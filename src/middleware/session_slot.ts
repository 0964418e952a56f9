import type { SessionSlot } from '../context/internals.ts'
import { randomText } from './secrets.ts'

/** Most bytes of a cookie's name and value together that every browser keeps (RFC 6265bis, section 5.5). */
const MAX_COOKIE_BYTES = 4096

/** Most bytes of JSON that a session keeps in a store. */
const MAX_STORED_BYTES = 1 << 18

/** What a session cookie carries. */
export interface SessionPayload {
  /** Names the session for as long as it lives; a CSRF token is bound to it. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly expires: number
  readonly data: object
}

/**
 * The session of one request. Data is serialised when it is set, so that data which has no JSON form, or is too large for
 * a cookie, fails where the handler sets it.
 */
export class SignedSessionSlot implements SessionSlot {
  changed = false
  readonly #overhead: number | null
  #data: object | null
  #json: string | null = null
  #id: string | null
  #nextId: string | null = null

  /** `overhead`: bytes of the cookie that are not data; null: the data lies in a store. */
  constructor(payload: SessionPayload | null, overhead: number | null) {
    this.#overhead = overhead
    this.#data = payload?.data ?? null
    this.#id = payload?.id ?? null
  }

  get data(): object | null {
    return this.#data
  }

  /** Throws `TypeError` for what is no object or has no JSON form, `RangeError` for too much. */
  set data(data: object | null) {
    if (data === null) {
      // The next session is another one: what was bound to this one no longer holds.
      this.#data =
        this.#json =
        this.#id =
        this.#nextId =
          null
      return
    }
    const json = typeof data === 'object' ? toJson(data) : undefined
    if (json === undefined) {
      throw new TypeError(
        `Cannot set the session: the data is ${typeof data}, want an object that has a JSON form`,
      )
    }
    checkSize(new TextEncoder().encode(json).length, this.#overhead)
    this.#data = data
    this.#json = json
    this.#id ??= this.nextId
  }

  /** The id of the session as it stands; null without one. */
  get id(): string | null {
    return this.#id
  }

  /** The id that a session which begins in this request will have. */
  get nextId(): string {
    return this.#nextId ??= randomText(16)
  }

  /** The data as JSON: as it was set, else as it came. */
  get json(): string {
    return this.#json ?? JSON.stringify(this.#data)
  }
}

function toJson(data: object): string | undefined {
  const json: string | undefined = JSON.stringify(data)
  return json !== undefined && /^[{[]/.test(json) ? json : undefined
}

function checkSize(jsonBytes: number, overhead: number | null): void {
  if (overhead === null) {
    if (jsonBytes <= MAX_STORED_BYTES) return
    throw new RangeError(
      `Cannot set the session: its data has ${jsonBytes} bytes, want at most ${MAX_STORED_BYTES}`,
    )
  }
  const bytes = overhead + base64Length(jsonBytes)
  if (bytes > MAX_COOKIE_BYTES) {
    throw new RangeError(
      `Cannot set the session: its cookie has ${bytes} bytes, want at most ${MAX_COOKIE_BYTES}; keep large data in a store: session({ store })`,
    )
  }
}

function base64Length(bytes: number): number {
  return Math.ceil(bytes * 4 / 3)
}
