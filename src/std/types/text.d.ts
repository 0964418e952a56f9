/** Text distance (deno-std text). */
export function levenshteinDistance(str1: string, str2: string): number
export function closestString(givenWord: string, possibleWords: ReadonlyArray<string>): string
