/** A program as the application holds it. */
import type { RunStats } from './errors.ts'
import { type AnyBinding, BINDING } from '../reach/calls/bindings.ts'
import type { Call, FetchCall } from './message.ts'

/** What a program is asked through; `Sandbox` gives it. */
export interface Asks {
  call(call: Omit<Call, 'program' | 'env' | 'reach'>, options: CallOptions): Promise<unknown>
  fetch(
    request: Request,
    call: Pick<FetchCall, 'entrypoint' | 'props'>,
    options: CallOptions,
  ): Promise<Response>
  /** Resolves when the newest version serves; rejects with why it does not. */
  ready(): Promise<void>
}

/** What a run left behind. */
export interface RunReport {
  /** What the program wrote to its console. */
  readonly logs: string
  readonly stats: RunStats
}

/** How one call runs. */
export interface CallOptions {
  /** Milliseconds; default: the program's. */
  readonly timeoutMs?: number | undefined
  /** Turns in the queue for each turn of a program of weight 1, 1 to 16. Default 1. */
  readonly weight?: number | undefined
  /** Called once the program ran, whatever came of it, before the call resolves. */
  readonly onRun?: ((report: RunReport) => void) | undefined
}

/** How an entry point is asked. */
export interface EntrypointOptions {
  /** Data that its class finds in `ctx.props`. */
  readonly props?: unknown | undefined
  readonly limits?: CallOptions | undefined
}

/** An export of a program: an object with methods, or a class, of which each call makes one. */
export class Entrypoint {
  readonly #asks: Asks
  readonly #name: string
  readonly #options: EntrypointOptions

  constructor(asks: Asks, name: string, options: EntrypointOptions) {
    this.#asks = asks
    this.#name = name
    this.#options = options
  }

  /** Its answer to a request. Rejects with a `SandboxError`. */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    const { props, limits = {} } = this.#options
    const request = input instanceof Request && init === undefined ? input : new Request(input, init)
    return this.#asks.fetch(request, { entrypoint: this.#name, props }, limits)
  }

  /** What its method gives, a structured clone. Rejects with a `SandboxError`. */
  call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const { props, limits = {} } = this.#options
    return this.#asks.call({ entrypoint: this.#name, method: checkName(method), args, props }, limits)
  }
}

/** An entry point whose methods are called by their names, `fetch` and `call` excepted, which are its own: `stub.total(items)`. */
export type EntrypointStub = Entrypoint & {
  readonly [method: string]: (...args: readonly unknown[]) => Promise<unknown>
}

/** A stub; a promise that resolves to it does not take it for another promise. */
function toStub(entrypoint: Entrypoint): EntrypointStub {
  return new Proxy(entrypoint, {
    get(target, name) {
      if (name === 'fetch') return target.fetch.bind(target)
      if (name === 'call') return target.call.bind(target)
      if (typeof name === 'symbol' || name === 'then' || name in target) {
        return Reflect.get(target, name, target)
      }
      return (...args: readonly unknown[]) => target.call(name, ...args)
    },
  }) as EntrypointStub
}

/** A program. Each call runs in a machine that is reset afterwards, so nothing of one is there in the next. */
export class SandboxWorker {
  readonly #asks: Asks
  /** What it is in the `env` of another program: each of its functions may be called, and its `fetch`. */
  readonly [BINDING]: AnyBinding = {
    call: (member, args) => this.call(member, ...args),
    fetch: (request) => this.fetch(request),
  }

  constructor(asks: Asks) {
    this.#asks = asks
  }

  /** What `fetch` of its default export answers. Rejects with a `SandboxError`. */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    return this.entrypoint().fetch(input, init)
  }

  /** What an exported function gives, or that method of the default export. Rejects with a `SandboxError`. */
  call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.entrypoint().call(name, ...args)
  }

  /** An export that is an object or a class; `default` if left out. */
  entrypoint(name = 'default', options: EntrypointOptions = {}): Entrypoint {
    return new Entrypoint(this.#asks, checkName(name), options)
  }

  /** {@linkcode entrypoint} as Workers have it: its methods are called by their names. */
  getEntrypoint(name?: string | null, options: EntrypointOptions = {}): EntrypointStub {
    return toStub(this.entrypoint(name ?? undefined, options))
  }

  /** Loads the newest version in a machine, and resolves when it serves; rejects with why it does not. */
  ready(): Promise<void> {
    return this.#asks.ready()
  }
}

function checkName(name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= 256) return name
  throw new TypeError(
    `Cannot use an export: its name is ${Deno.inspect(name)}, want a text of 1 to 256 characters`,
  )
}
