/** Terms of the sum that stands for a request with real work. */
export const CPU_TERMS = 50_000

/**
 * The sum of the square roots of 0 to `terms` - 1. Throws `RangeError` for a number that is no count.
 *
 * The check is also what keeps V8's Maglev from inlining the loop into the handler (100 bytes of bytecode are its limit): there it
 * would never reach TurboFan, and run four times longer in some servers and some runs, which would make every ratio a lottery.
 */
export function sumOfRoots(terms: number): number {
  if (!Number.isSafeInteger(terms) || terms < 0) {
    throw new RangeError(
      `Cannot sum square roots: terms is ${terms}, want a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
    )
  }
  let sum = 0
  for (let i = 0; i < terms; i++) sum += Math.sqrt(i)
  return sum
}

/** What the routes put into their pages. */
export const NAME = 'Ada & Co.'
export const ITEMS: readonly number[] = Array.from({ length: 50 }, (_, i) => i + 1)
