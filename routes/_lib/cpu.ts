/** Terms of the site's sums: tens of milliseconds on a core of 2026. */
export const TERMS = 1_000_000

/** A task's answer. */
export interface Sum {
  readonly value: number
  /** Milliseconds of work. */
  readonly ms: number
}

/** Adds the square roots of 0 to `terms` - 1, fifty times over, to keep one core busy. */
export function sumOfRoots(terms: number): Sum {
  const begin = performance.now()
  let value = 0
  for (let round = 0; round < 50; round++) {
    value = 0
    for (let i = 0; i < terms; i++) value += Math.sqrt(i)
  }
  return { value, ms: performance.now() - begin }
}
