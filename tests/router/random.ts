/** A seeded source of choices; the same seed gives the same choices. */
export interface Random {
  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number
  pick<T>(list: readonly T[]): T
}

/** Makes a source by the 32-bit xorshift of Marsaglia (2003). `seed` is not 0. */
export function randomOf(seed: number): Random {
  let state = seed | 0
  const below = (limit: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  return { below, pick: (list) => list[below(list.length)] }
}
