/** Stand-ins for `Response` that make the real one only when it is needed, and the one for a view. */
import type { RenderOptions } from '../../../context/types.ts'
import { delegate } from './delegate.ts'
import type { PlainHead } from './plain_head.ts'

/** The runtime's own; an application's `Response` may make a {@link LazyResponse}. */
export const NativeResponse = Response

/**
 * A response of a text. It is a `Response` to `instanceof`, and a real one is made when any member of it is used; if none is, its
 * text goes out as it is. Properties that somebody defines on it are as good as none: Deno's server does not ask for them either.
 * {@link installLazyMembers} gives it the members.
 */
export class LazyResponse {
  readonly #content: string | null
  readonly #head: PlainHead
  #real: Response | null = null

  constructor(content: string | null, head: PlainHead) {
    this.#content = content
    this.#head = head
  }

  /** Its text; null for none. */
  static content(response: LazyResponse): string | null {
    return response.#content
  }

  /** Its status and its headers. */
  static head(response: LazyResponse): PlainHead {
    return response.#head
  }

  /** Whether `response` is one that nobody has looked at. */
  static isUntouched(response: object): response is LazyResponse {
    return #real in response && response.#real === null
  }

  /** The real response behind one; anything else is given back. */
  static real<T>(value: T): T | Response {
    if (typeof value !== 'object' || value === null || !(#real in value)) return value
    const lazy: LazyResponse = value
    const { status, headers } = lazy.#head
    return lazy.#real ??= new NativeResponse(lazy.#content, {
      status,
      headers: headers as [string, string][],
    })
  }
}

/** Makes {@link LazyResponse} stand in for `Response`: every member of that leads to the real one. */
export function installLazyMembers(): void {
  delegate(LazyResponse.prototype as object, NativeResponse.prototype, LazyResponse.real)
}

/** Stands for a view that the host renders. It has no body to read here. */
export class ViewResponse extends NativeResponse {
  readonly view: string
  readonly data: Record<string, unknown>
  readonly options: RenderOptions

  constructor(view: string, data: Record<string, unknown>, options: RenderOptions) {
    super(null, { status: options.status ?? 200, headers: options.headers })
    this.view = view
    this.data = data
    this.options = options
  }

  override get body(): never {
    throw new TypeError(
      `Cannot read the page "${this.view}" in an isolated handler: the host renders it after the handler has returned it`,
    )
  }

  override text(): Promise<string> {
    return Promise.reject(this.#unreadable())
  }

  override bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.reject(this.#unreadable())
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.reject(this.#unreadable())
  }

  #unreadable(): TypeError {
    try {
      return this.body
    } catch (error) {
      return error as TypeError
    }
  }
}
