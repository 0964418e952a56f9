/** Terms of the sum that stands for a request with real work. */
export const CPU_TERMS = 50_000

/** The sum of the square roots of 0 to `terms` - 1. */
export function sumOfRoots(terms: number): number {
  let sum = 0
  for (let i = 0; i < terms; i++) sum += Math.sqrt(i)
  return sum
}

/** What the routes put into their pages. */
export const NAME = 'Ada & Co.'
/** Who looks at the page with expressions. */
export interface Visitor {
  readonly name?: string
  readonly role?: string
  readonly active?: boolean
}
export const VISITOR: Visitor = { name: NAME, role: 'owner', active: true }
export const ITEMS: readonly number[] = Array.from({ length: 50 }, (_, i) => i + 1)
