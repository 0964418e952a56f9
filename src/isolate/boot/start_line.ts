/** The queue of programs to start, a few at a time: those with a waiting request come first. */

/** Brings some files into service, or finds out why that cannot be. */
export interface Start {
  readonly files: readonly string[]
  /** Never rejects. */
  run(): Promise<void>
}

/** The starts of one table of routes after the other. */
export class StartLine {
  /** Starts that wait, in the order in which they were given. */
  #waiting = new Set<Start>()
  /** Files whose starts are not over; null while the starts of the next run are not known. */
  #pending: Set<string> | null = null
  /** Files that somebody waits for, in the order in which they were asked for. */
  readonly #asked = new Map<string, PromiseWithResolvers<void>>()

  /** Puts the start of a file before those without a waiting request. Resolves when it is over, or when there is none. */
  ask(file: string): Promise<void> {
    if (this.#pending?.has(file) === false) return Promise.resolve()
    let asked = this.#asked.get(file)
    if (asked === undefined) this.#asked.set(file, asked = Promise.withResolvers())
    return asked.promise
  }

  /** Runs the starts, at most `lanes` at a time. Resolves when they are over, or those that ran at a {@link drop} are. */
  async run(starts: readonly Start[], lanes: number): Promise<void> {
    this.#waiting = new Set(starts)
    this.#pending = new Set(starts.flatMap(({ files }) => files))
    await Promise.all(Array.from({ length: lanes }, () => this.#runLane()))
  }

  /** Drops the starts that have not begun; their waits go on until the next {@link run}. */
  drop(): void {
    this.#waiting.clear()
    this.#pending = null
  }

  /** Ends the wait of all: nothing more comes. */
  settle(): void {
    for (const { resolve } of this.#asked.values()) resolve()
    this.#asked.clear()
  }

  async #runLane(): Promise<void> {
    for (let start = this.#next(); start !== undefined; start = this.#next()) {
      this.#waiting.delete(start)
      await start.run()
      for (const file of start.files) {
        this.#pending?.delete(file)
        this.#asked.get(file)?.resolve()
        this.#asked.delete(file)
      }
    }
  }

  #next(): Start | undefined {
    const waiting = [...this.#waiting]
    for (const file of this.#asked.keys()) {
      const asked = waiting.find(({ files }) => files.includes(file))
      if (asked !== undefined) return asked
    }
    return waiting[0]
  }
}
