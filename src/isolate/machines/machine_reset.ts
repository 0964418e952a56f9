/** The outcome of a machine's reset, which may come after the request's answer. */

/** State of a machine after a request. */
export type MachineState = 'clean' | 'resetting' | 'lost'

/** A reset, under way or over. */
export class MachineReset {
  #state: MachineState
  #us: number
  #dirtyPages: number
  #listeners: (() => void)[] | null = null

  /** Microseconds and pages count when the reset is over. */
  constructor(state: MachineState, us: number, dirtyPages: number) {
    this.#state = state
    this.#us = us
    this.#dirtyPages = dirtyPages
  }

  /** `clean`: the machine serves the next request; `resetting`: not yet; `lost`: it was dropped, and another is made. */
  get state(): MachineState {
    return this.#state
  }

  /** Microseconds until the machine was clean or given up; 0 while it is reset. */
  get us(): number {
    return this.#us
  }

  /** Pages that were put back; 0 while the machine is reset. */
  get dirtyPages(): number {
    return this.#dirtyPages
  }

  /** Calls `listener` once, when the reset is over: at once when it is. It must not throw. */
  whenOver(listener: () => void): void {
    if (this.#state !== 'resetting') listener()
    else if (this.#listeners === null) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  /** Resolves when the reset is over. */
  over(): Promise<void> {
    return new Promise((resolve) => this.whenOver(resolve))
  }

  /** Ends the reset. */
  end(state: Exclude<MachineState, 'resetting'>, us: number, dirtyPages: number): void {
    this.#state = state
    this.#us = us
    this.#dirtyPages = dirtyPages
    const listeners = this.#listeners
    this.#listeners = null
    for (const listener of listeners ?? []) listener()
  }
}
