/** A small seeded generator, so that every run sees the same cases (Marsaglia's xorshift32). */
export class RandomSource {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1
  }

  /** An integer from 0 below `end`. */
  below(end: number): number {
    let x = this.#state
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#state = x >>> 0
    return this.#state % end
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(length).map(() => this.below(256))
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]
  }
}
