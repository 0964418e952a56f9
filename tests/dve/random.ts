/** Repeatable randomness (mulberry32) for property tests and fuzz. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number
  pick<T>(list: readonly T[]): T
}

/** A source of numbers that depend on `seed` only. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function int(below: number): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * below)
  }
  return { int, pick: (list) => list[int(list.length)] }
}
