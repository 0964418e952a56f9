import { closestString, levenshteinDistance } from '@std/text'

/** Letters of a word for each slip that still counts as one. */
const LETTERS_A_SLIP = 3

/**
 * The name that somebody may have meant by `word`, or undefined where none is near: at most a slip for each three letters, with letter
 * case counting for nothing.
 */
export function nearName(word: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  const lower = names.map((name) => name.toLowerCase())
  const wanted = word.toLowerCase()
  const closest = closestString(wanted, lower)
  const slips = levenshteinDistance(wanted, closest)
  return slips <= Math.ceil(wanted.length / LETTERS_A_SLIP) ? names[lower.indexOf(closest)] : undefined
}

/** `, did you mean "name"`, or nothing where no name is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = nearName(word, names)
  return near === undefined ? '' : `, did you mean ${JSON.stringify(near)}`
}
