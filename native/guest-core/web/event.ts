/** Events. https://dom.spec.whatwg.org/#interface-event */
import { host } from './host.ts'
import { defineConstants, expose, need, toText } from './webidl.ts'

const PHASES = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 }

/** What a dispatch changes in an event. */
export interface EventState {
  target: object | null
  currentTarget: object | null
  dispatching: boolean
  stopped: boolean
  stoppedAtOnce: boolean
  canceled: boolean
  passive: boolean
}

/** The state of an event; undefined for what is none. */
export let stateOf: (event: object) => EventState | undefined

export class Event {
  readonly #type: string
  readonly #bubbles: boolean
  readonly #cancelable: boolean
  readonly #composed: boolean
  readonly #time = host.monotonicMs()
  readonly #state: EventState = {
    target: null,
    currentTarget: null,
    dispatching: false,
    stopped: false,
    stoppedAtOnce: false,
    canceled: false,
    passive: false,
  }

  static {
    stateOf = (event) => #state in event ? event.#state : undefined
  }

  constructor(type: unknown, init?: unknown) {
    need(arguments.length, 1, 'new Event')
    this.#type = toText(type)
    const { bubbles, cancelable, composed } = toInit(init)
    this.#bubbles = Boolean(bubbles)
    this.#cancelable = Boolean(cancelable)
    this.#composed = Boolean(composed)
  }

  get type(): string {
    return this.#type
  }

  get target(): object | null {
    return this.#state.target
  }

  get srcElement(): object | null {
    return this.#state.target
  }

  get currentTarget(): object | null {
    return this.#state.currentTarget
  }

  composedPath(): object[] {
    const { currentTarget } = this.#state
    return currentTarget === null ? [] : [currentTarget]
  }

  get eventPhase(): number {
    return this.#state.dispatching ? PHASES.AT_TARGET : PHASES.NONE
  }

  stopPropagation(): void {
    this.#state.stopped = true
  }

  get cancelBubble(): boolean {
    return this.#state.stopped
  }

  set cancelBubble(value: unknown) {
    if (value) this.#state.stopped = true
  }

  stopImmediatePropagation(): void {
    this.#state.stopped = this.#state.stoppedAtOnce = true
  }

  get bubbles(): boolean {
    return this.#bubbles
  }

  get cancelable(): boolean {
    return this.#cancelable
  }

  get returnValue(): boolean {
    return !this.#state.canceled
  }

  set returnValue(value: unknown) {
    if (!value) this.preventDefault()
  }

  preventDefault(): void {
    if (this.#cancelable && !this.#state.passive) this.#state.canceled = true
  }

  get defaultPrevented(): boolean {
    return this.#state.canceled
  }

  get composed(): boolean {
    return this.#composed
  }

  get timeStamp(): number {
    return this.#time
  }

  get isTrusted(): boolean {
    return false
  }
}

expose(Event, 'Event')
defineConstants(Event, PHASES)

/** An event with a value of the one who made it. */
export class CustomEvent extends Event {
  readonly #detail: unknown

  constructor(type: unknown, init?: unknown) {
    need(arguments.length, 1, 'new CustomEvent')
    super(type, init)
    this.#detail = toInit(init).detail
  }

  get detail(): unknown {
    return this.#detail
  }
}

expose(CustomEvent, 'CustomEvent')

/** As Deno has it: what is no object is an empty one. */
function toInit(init: unknown): Record<string, unknown> {
  return Object(init)
}
