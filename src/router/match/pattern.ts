/** One path segment of a pattern. Literal text is decoded text, never percent-encoded. */
export type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'mixed'; readonly prefix: string; readonly name: string; readonly suffix: string }
  | { readonly kind: 'parameter'; readonly name: string; readonly optional: boolean }
  | { readonly kind: 'catchAll'; readonly name: string; readonly optional: boolean }

/** A parsed pattern: its text as people write it (`/users/[id]`) and its segments. */
export interface Pattern {
  readonly text: string
  readonly segments: readonly Segment[]
}

/** Optional segments double the patterns that a file stands for; four make sixteen. */
const MAX_OPTIONAL_SEGMENTS = 4

const NAME = /^[A-Za-z_$][\w$-]*$/

/**
 * Parses a pattern such as `/`, `/users/[id]`, `/files/[...rest]`, `/[[lang]]/about`, `/user-[id]`.
 *
 * Throws `SyntaxError` that names the pattern and the remedy.
 */
export function parsePattern(text: string): Pattern {
  if (!text.startsWith('/')) throw new SyntaxError(`parse pattern: '${text}', wanted a leading '/'`)
  if (text === '/') return { text, segments: [] }
  return toPattern(text.slice(1).split('/').map((part) => parseSegment(part, text)), text)
}

/** Joins segments into a checked pattern. `where` names the source in errors. */
export function toPattern(segments: readonly Segment[], where: string): Pattern {
  const names = new Set<string>()
  let optional = 0
  segments.forEach((segment, index) => {
    if (segment.kind === 'literal') return
    if (names.has(segment.name)) {
      throw new SyntaxError(
        `parse pattern: '${where}', wanted each parameter once, '${segment.name}' comes twice`,
      )
    }
    names.add(segment.name)
    if (segment.kind === 'mixed') return
    if (segment.optional) optional++
    if (segment.kind === 'catchAll' && index !== segments.length - 1) {
      throw new SyntaxError(
        `parse pattern: '${where}', wanted the catch-all '[...${segment.name}]' as last segment`,
      )
    }
  })
  if (optional > MAX_OPTIONAL_SEGMENTS) {
    throw new SyntaxError(
      `parse pattern: '${where}', wanted at most ${MAX_OPTIONAL_SEGMENTS} optional segments, it has ${optional}`,
    )
  }
  return { text: '/' + segments.map(segmentText).join('/'), segments }
}

/** Parses one segment: literal, `[id]`, `[[id]]`, `[...rest]`, `[[...rest]]`, `user-[id]`, `[id].json`. */
export function parseSegment(part: string, where: string): Segment {
  if (part === '' || part === '.' || part === '..') {
    throw new SyntaxError(`parse pattern: '${where}', wanted no empty, '.' or '..' segment`)
  }
  if (part.includes('\\') || part.includes('\0')) {
    throw new SyntaxError(`parse pattern: '${where}', wanted no backslash and no NUL in a segment`)
  }
  const open = part.indexOf('[')
  if (open === -1) {
    if (part.includes(']')) throw bracketError(part, where)
    return { kind: 'literal', text: part.normalize('NFC') }
  }
  const close = part.lastIndexOf(']')
  if (close < open) throw bracketError(part, where)
  const prefix = part.slice(0, open).normalize('NFC')
  const suffix = part.slice(close + 1).normalize('NFC')
  let inner = part.slice(open + 1, close)
  const optional = inner.startsWith('[') && inner.endsWith(']')
  if (optional) inner = inner.slice(1, -1)
  if (inner.includes('[') || inner.includes(']') || prefix.includes(']') || suffix.includes('[')) {
    throw bracketError(part, where)
  }
  const catchAll = inner.startsWith('...')
  const name = catchAll ? inner.slice(3) : inner
  if (!NAME.test(name)) {
    throw new SyntaxError(
      `parse pattern: '${where}', wanted a parameter name of letters, digits, '_', '$' or '-' that starts with a letter, '${name}' in '${part}'`,
    )
  }
  if (prefix === '' && suffix === '') return { kind: catchAll ? 'catchAll' : 'parameter', name, optional }
  if (catchAll || optional) {
    throw new SyntaxError(
      `parse pattern: '${where}', wanted a whole segment for an optional parameter or a catch-all, got '${part}'`,
    )
  }
  return { kind: 'mixed', prefix, name, suffix }
}

function bracketError(part: string, where: string): SyntaxError {
  return new SyntaxError(
    `parse pattern: '${where}', wanted [name], [[name]], [...name] or one [name] beside literal text, got '${part}'`,
  )
}

/** A segment as people write it. */
function segmentText(segment: Segment): string {
  if (segment.kind === 'literal') return segment.text
  if (segment.kind === 'mixed') return `${segment.prefix}[${segment.name}]${segment.suffix}`
  const inner = segment.kind === 'catchAll' ? `...${segment.name}` : segment.name
  return segment.optional ? `[[${inner}]]` : `[${inner}]`
}

/** The key under which two patterns that match the same paths are equal: parameter names left out. */
export function shapeOf(segments: readonly Segment[]): string {
  return '/' + segments.map((segment) => {
    if (segment.kind === 'literal') return segment.text
    if (segment.kind === 'mixed') return `${segment.prefix}[]${segment.suffix}`
    return segment.kind === 'catchAll' ? '[...]' : '[]'
  }).join('/')
}

/**
 * The patterns without optional segments that `pattern` stands for, leftmost parameters filled first:
 * `/[[a]]/[[b]]` gives `/[a]/[b]`, `/[a]`, `/`. A shape comes once, so `/[b]` is not in that list.
 */
export function expandOptional(pattern: Pattern): Segment[][] {
  let lists: Segment[][] = [[]]
  for (const segment of pattern.segments) {
    const optional = (segment.kind === 'parameter' || segment.kind === 'catchAll') && segment.optional
    const present = optional ? { ...segment, optional: false } : segment
    const next = lists.map((list) => [...list, present])
    lists = optional ? [...next, ...lists] : next
  }
  const seen = new Set<string>()
  return lists.filter((list) => {
    const shape = shapeOf(list)
    if (seen.has(shape)) return false
    seen.add(shape)
    return true
  })
}

/** The parameter names of `segments`, left to right. */
export function parameterNames(segments: readonly Segment[]): string[] {
  return segments.flatMap((segment) => segment.kind === 'literal' ? [] : [segment.name])
}
