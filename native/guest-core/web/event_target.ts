/** Listeners and their calls; there is no tree, so an event has one target. https://dom.spec.whatwg.org/#interface-eventtarget */
import { DOMException } from './dom_exception.ts'
import { Event, stateOf } from './event.ts'
import { host } from './host.ts'
import { expose, need, toDictionary, toText } from './webidl.ts'

type Callback = ((event: Event) => unknown) | { handleEvent(event: Event): unknown }

interface Listener {
  readonly type: string
  readonly callback: Callback
  readonly capture: boolean
  readonly once: boolean
  readonly passive: boolean
  removed: boolean
}

/** What an `AbortSignal` offers to a listener that ends with it; `abort.ts` builds on this file. */
interface SignalLike {
  readonly aborted: boolean
  addEventListener(type: 'abort', callback: () => void, options: { once: boolean }): void
}

export class EventTarget {
  /** Null while nobody listens, as most targets stay. */
  #listeners: Listener[] | null = null

  addEventListener(type: unknown, callback: unknown, options?: unknown): void {
    need(arguments.length, 2, 'EventTarget.addEventListener')
    const name = toText(type)
    const { once, passive, signal } = typeof options === 'boolean'
      ? {} as Record<string, unknown>
      : toDictionary(options, 'the options of addEventListener')
    if (signal !== undefined && !isSignal(signal)) {
      throw new TypeError('Cannot add a listener: its signal is no AbortSignal')
    }
    if (callback === null || callback === undefined || signal?.aborted) return
    if (typeof callback !== 'function' && typeof callback !== 'object') {
      throw new TypeError(`Cannot add a listener: it is ${typeof callback}, want a function`)
    }
    const capture = toCapture(options)
    const listeners = this.#listeners ??= []
    if (listeners.some((other) => isSame(other, name, callback, capture))) return
    const listener: Listener = {
      type: name,
      callback: callback as Callback,
      capture,
      once: Boolean(once),
      passive: Boolean(passive),
      removed: false,
    }
    // A dispatch that runs goes over the old list: a listener that was added by a listener is not called.
    this.#listeners = [...listeners, listener]
    signal?.addEventListener('abort', () => this.#remove(listener), { once: true })
  }

  removeEventListener(type: unknown, callback: unknown, options?: unknown): void {
    need(arguments.length, 2, 'EventTarget.removeEventListener')
    const name = toText(type)
    const capture = toCapture(options)
    const listener = this.#listeners?.find((other) => isSame(other, name, callback, capture))
    if (listener !== undefined) this.#remove(listener)
  }

  dispatchEvent(event: unknown): boolean {
    need(arguments.length, 1, 'EventTarget.dispatchEvent')
    if (!(event instanceof Event)) throw new TypeError('Cannot dispatch what is no Event')
    const state = stateOf(event)!
    if (state.dispatching) {
      throw new DOMException('Cannot dispatch an event that is being dispatched', 'InvalidStateError')
    }
    state.dispatching = true
    state.target = state.currentTarget = this
    if (this.#listeners !== null && !state.stopped) {
      this.#invoke(event, true)
      this.#invoke(event, false)
    }
    state.currentTarget = null
    state.dispatching = state.stopped = state.stoppedAtOnce = false
    return !state.canceled
  }

  #invoke(event: Event, capture: boolean): void {
    const state = stateOf(event)!
    for (const listener of this.#listeners ?? []) {
      if (listener.removed || listener.type !== event.type || listener.capture !== capture) continue
      if (listener.once) this.#remove(listener)
      state.passive = listener.passive
      try {
        const { callback } = listener
        if (typeof callback === 'function') callback.call(this, event)
        else callback.handleEvent(event)
      } catch (error) {
        report(error)
      }
      state.passive = false
      if (state.stoppedAtOnce) return
    }
  }

  #remove(listener: Listener): void {
    listener.removed = true
    this.#listeners = this.#listeners?.filter((other) => other !== listener) ?? null
  }
}

expose(EventTarget, 'EventTarget')

/** The exception of a listener goes where those of timers go. */
function report(error: unknown): void {
  host.microtask(() => {
    throw error
  })
}

function toCapture(options: unknown): boolean {
  if (options === null || typeof options !== 'object') return Boolean(options)
  return Boolean((options as { capture?: unknown }).capture)
}

function isSame(listener: Listener, type: string, callback: unknown, capture: boolean): boolean {
  return listener.type === type && listener.callback === callback && listener.capture === capture
}

function isSignal(value: unknown): value is SignalLike {
  return value instanceof EventTarget && typeof (value as unknown as SignalLike).aborted === 'boolean'
}

/** The `onNAME` attribute of one target: a listener whose function may be exchanged. */
export class EventHandler {
  #callback: ((event: Event) => unknown) | null = null
  #listens = false

  get value(): ((event: Event) => unknown) | null {
    return this.#callback
  }

  set(target: EventTarget, type: string, value: unknown): void {
    this.#callback = typeof value === 'function' ? value as (event: Event) => unknown : null
    if (this.#listens || this.#callback === null) return
    this.#listens = true
    target.addEventListener(type, (event: Event) => this.#callback?.call(target, event))
  }
}
