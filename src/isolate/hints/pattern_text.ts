/** Texts that match a regular expression, for simple ones: `^[A-Z]-\d+$`. No expression runs here: a stranger's may not come to an end. */

/** One part and how often it comes: `\d{2,}`. */
const PART = /\[((?:\\.|[^\]\\])*)\]|\\(.)|([^\\[\](){}|*+?.^$])|(\.)/y
const TIMES = /\{(\d{1,3})(?:,(\d{0,3}))?\}|([*+?])/y
const LONGEST = 200
/** Characters of a class, by what stands behind the backslash. */
const CLASSES: Readonly<Record<string, string>> = {
  d: '927687',
  w: 'warmup',
  s: ' ',
  S: 'w',
  D: 'w',
  W: '-',
  p: 'W',
}

/** A text that matches; another one for another `turn`, where it may be longer. Undefined where the pattern is not so simple. */
export function matchPattern(pattern: string, turn: number): string | undefined {
  let text = ''
  let index = pattern.startsWith('^') ? 1 : 0
  const end = pattern.endsWith('$') ? pattern.length - 1 : pattern.length
  while (index < end) {
    PART.lastIndex = index
    const part = PART.exec(pattern)
    if (part === null) return undefined
    TIMES.lastIndex = index = PART.lastIndex
    const times = TIMES.exec(pattern)
    if (times !== null) index = TIMES.lastIndex
    const [, set, escaped, plain, dot] = part
    const characters = set !== undefined
      ? charactersOf(set)
      : escaped !== undefined
      ? CLASSES[escaped] ?? escaped
      : dot !== undefined
      ? 'warmup'
      : plain
    if (characters === undefined) return undefined
    const [least, most] = countOf(times)
    const count = Math.min(most, least + turn % 3)
    for (let at = 0; at < count; at++) text += characters[at % characters.length]
    if (text.length > LONGEST) return undefined
  }
  return text
}

function countOf(times: RegExpExecArray | null): readonly [least: number, most: number] {
  if (times === null) return [1, 1]
  const [, least, most, sign] = times
  if (least !== undefined) {
    return [Number(least), most === undefined ? Number(least) : most === '' ? Infinity : Number(most)]
  }
  return sign === '?' ? [0, 1] : [sign === '+' ? 1 : 0, Infinity]
}

/** Undefined for a class of what is not in it. */
function charactersOf(set: string): string | undefined {
  if (set.startsWith('^')) return undefined
  const escaped = /^\\(.)/.exec(set)
  if (escaped !== null) return CLASSES[escaped[1]!] ?? escaped[1]
  if (set.includes('a-z')) return 'warmup'
  if (set.includes('A-Z')) return 'WARMUP'
  return set.includes('0-9') ? '927687' : set[0]
}
