/** Background work: it runs one piece at a time, in order, while nothing more urgent goes on. */
export class Background<Of> {
  readonly #order: (a: Of, b: Of) => number
  #waiting: { readonly of: Of; readonly work: () => Promise<void> }[] = []
  /** Urgent works that go on. */
  #urgent = 0
  #running: Promise<void> | null = null
  #closed = false

  /** `order` says whose work comes first, when one is to begin. */
  constructor(order: (a: Of, b: Of) => number) {
    this.#order = order
  }

  /** Adds work; what it throws is printed on standard error. */
  add(of: Of, work: () => Promise<void>): void {
    if (this.#closed) return
    this.#waiting.push({ of, work })
    this.#next()
  }

  /** Does urgent work at once; nothing that waits begins before it is done. */
  async hold<T>(urgent: () => Promise<T>): Promise<T> {
    this.#urgent++
    try {
      return await urgent()
    } finally {
      this.#urgent--
      this.#next()
    }
  }

  /** Drops what waits, and resolves when what runs is done. */
  async close(): Promise<void> {
    this.#closed = true
    this.#waiting = []
    await this.#running
  }

  #next(): void {
    if (this.#running !== null || this.#urgent > 0 || this.#waiting.length === 0) return
    this.#waiting.sort((a, b) => this.#order(a.of, b.of))
    const { work } = this.#waiting.shift()!
    this.#running = work()
      .catch((error) => console.error('mayfly: work in the background failed\n', error))
      .finally(() => {
        this.#running = null
        this.#next()
      })
  }
}
