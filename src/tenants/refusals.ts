/**
 * Refusals wait a moment. Who asks again as soon as it is refused would else come back thousands of times a second, and all of them stand
 * before its neighbours' requests in the one thread that reads HTTP. Each waits for a time of its own: refusals that are answered together
 * come back together.
 */

/** Shortest and longest wait of a refusal, in milliseconds. */
export const PAUSE_MS = [50, 150] as const
/** Refusals of one tenant that wait: each is an open request. */
export const HELD_MAX = 256

/** The refusals of one tenant. */
export class Refusals {
  readonly #held = new Map<() => void, ReturnType<typeof setTimeout>>()

  /** Resolves when a refusal may be answered: at once where too many wait. */
  wait(): Promise<void> {
    if (this.#held.size >= HELD_MAX) return Promise.resolve()
    const [least, most] = PAUSE_MS
    return new Promise((resolve) => {
      const answer = () => {
        this.#held.delete(answer)
        resolve()
      }
      this.#held.set(answer, setTimeout(answer, least + Math.random() * (most - least)))
    })
  }

  /** Answers all that wait. */
  release(): void {
    for (const [answer, timer] of this.#held) {
      clearTimeout(timer)
      answer()
    }
  }
}
