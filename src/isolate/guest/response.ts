/** Responses that cost little until somebody looks at them, and the one that stands for a view. */
import type { RenderOptions } from '../../context/types.ts'
import { delegate } from './delegate.ts'

/** Content types of what `ctx.send` makes most. */
export type PlainType = 'application/json' | 'text/plain; charset=utf-8' | 'text/html; charset=utf-8'

/** What an untouched response consists of. */
export interface PlainContent {
  readonly content: string
  readonly contentType: PlainType
}

/**
 * A 200 with one header. It is a `Response` to `instanceof`, and a real one is made when any member of it is used; if
 * none is, its text goes out as it is. {@link installLazyResponse} gives it the members.
 */
export class LazyResponse implements PlainContent {
  readonly #content: string
  readonly #contentType: PlainType
  #real: Response | null = null

  constructor(content: string, contentType: PlainType) {
    this.#content = content
    this.#contentType = contentType
  }

  get content(): string {
    return this.#content
  }

  get contentType(): PlainType {
    return this.#contentType
  }

  /** Whether `response` is one that nobody has looked at. */
  static isUntouched(response: object): response is LazyResponse {
    return #real in response && response.#real === null
  }

  /** The real response behind one. */
  static real(response: Response): Response {
    const lazy: object = response
    if (!(#real in lazy)) return response
    return lazy.#real ??= new Response(lazy.#content, { headers: { 'content-type': lazy.#contentType } })
  }
}

/** Makes {@link LazyResponse} stand in for `Response`: every member of that leads to the real one. */
export function installLazyResponse(): void {
  delegate(LazyResponse.prototype, Response.prototype, LazyResponse.real)
}

/** Stands for a view that the host renders. It has no body to read here. */
export class ViewResponse extends Response {
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
