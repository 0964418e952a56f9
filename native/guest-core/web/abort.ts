/** `AbortController` and `AbortSignal`. https://dom.spec.whatwg.org/#aborting-ongoing-activities */
import { DOMException } from './dom_exception.ts'
import { Event } from './event.ts'
import { EventHandler, EventTarget } from './event_target.ts'
import { host } from './host.ts'
import { expose, need } from './webidl.ts'

/** What makes a signal: the constructor is not for scripts. */
const KEY = Symbol('AbortSignal')
const LONGEST_TIMEOUT_MS = 2_147_483_647

/** Makes a signal that {@link abortSignal} ends. */
export function createSignal(): AbortSignal {
  return new AbortSignal(KEY)
}

/** Aborts a signal and those that depend on it. */
export let abortSignal: (signal: AbortSignal, reason: unknown) => void

export class AbortSignal extends EventTarget {
  #aborted = false
  #reason: unknown = undefined
  /** Of a signal made by `any`: the signals that it was made of, which depend on none themselves. */
  #sources: AbortSignal[] | null = null
  #dependents: AbortSignal[] = []
  #onabort: EventHandler | null = null

  static {
    abortSignal = (signal, reason) => {
      if (signal.#aborted) return
      const all = [signal, ...signal.#dependents.filter((other) => !other.#aborted)]
      signal.#dependents = []
      for (const each of all) {
        each.#aborted = true
        each.#reason = reason
      }
      for (const each of all) each.dispatchEvent(new Event('abort'))
    }
  }

  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: AbortSignal')
    super()
  }

  static any(signals: unknown): AbortSignal {
    need(arguments.length, 1, 'AbortSignal.any')
    const list = [...signals as Iterable<unknown>]
    for (const signal of list) {
      if (!(signal instanceof AbortSignal)) throw new TypeError('Cannot join what is no AbortSignal')
    }
    const joined = createSignal()
    const aborted = (list as AbortSignal[]).find((signal) => signal.#aborted)
    if (aborted !== undefined) {
      joined.#aborted = true
      joined.#reason = aborted.#reason
      return joined
    }
    const sources = (list as AbortSignal[]).flatMap((signal) => signal.#sources ?? [signal])
    joined.#sources = [...new Set(sources)]
    for (const source of joined.#sources) source.#dependents.push(joined)
    return joined
  }

  static abort(reason: unknown = newAbortError()): AbortSignal {
    const signal = createSignal()
    signal.#aborted = true
    signal.#reason = reason
    return signal
  }

  static timeout(milliseconds: unknown): AbortSignal {
    need(arguments.length, 1, 'AbortSignal.timeout')
    const ms = Math.trunc(Number(milliseconds))
    if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) {
      throw new TypeError(`Cannot make a timeout of ${String(milliseconds)} ms: want a positive number`)
    }
    const signal = createSignal()
    host.startTimer(
      () => abortSignal(signal, new DOMException('Signal timed out.', 'TimeoutError')),
      Math.min(ms, LONGEST_TIMEOUT_MS),
      false,
    )
    return signal
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get reason(): unknown {
    return this.#reason
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason
  }

  get onabort(): ((event: Event) => unknown) | null {
    return this.#onabort?.value ?? null
  }

  set onabort(value: unknown) {
    this.#onabort ??= new EventHandler()
    this.#onabort.set(this, 'abort', value)
  }
}

expose(AbortSignal, 'AbortSignal')

export class AbortController {
  readonly #signal = createSignal()

  get signal(): AbortSignal {
    return this.#signal
  }

  abort(reason: unknown = newAbortError()): void {
    abortSignal(this.#signal, reason)
  }
}

expose(AbortController, 'AbortController')

function newAbortError(): DOMException {
  return new DOMException('The signal has been aborted', 'AbortError')
}
