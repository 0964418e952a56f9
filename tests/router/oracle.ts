import { expandOptional, parsePattern, type Segment } from '../../src/router/match/pattern.ts'

/** A pattern with the methods it has. */
export interface OracleRoute {
  readonly pattern: string
  readonly methods: readonly string[]
}

/** What the naive matcher found. */
export type OracleMatch =
  | { outcome: 200; pattern: string; params: Record<string, string> }
  | { outcome: 400 | 404 | 405 | 414; pattern: ''; params: Record<string, string> }

/**
 * The rules of the router, one after another and without a tree: decode each segment, try every pattern, and of
 * those that match and have the method take the first in the order of precedence.
 */
export function oracleMatch(
  routes: readonly OracleRoute[],
  raw: string,
  method: string,
  maxParamLength: number,
): OracleMatch {
  const decoded = decodeSegments(raw)
  if (decoded === null) return missed(400)
  const candidates = candidatesOf(routes, decoded)
  if (candidates.length === 0) return missed(404)
  const able = candidates.filter(({ methods }) =>
    methods.includes(method) || methods.includes('*') || (method === 'HEAD' && methods.includes('GET'))
  )
  if (able.length === 0) return missed(405)
  const best = able.reduce((a, b) => compare(b.segments, a.segments) < 0 ? b : a)
  if (Object.values(best.params).some((value) => value.length > maxParamLength)) return missed(414)
  return { outcome: 200, pattern: best.pattern, params: best.params }
}

/** The methods for the `Allow` header, by the same rules. */
export function oracleAllowed(routes: readonly OracleRoute[], raw: string): string[] {
  const decoded = decodeSegments(raw)
  const allowed = new Set<string>()
  for (const { methods } of decoded === null ? [] : candidatesOf(routes, decoded)) {
    allowed.add('OPTIONS')
    if (methods.includes('GET')) allowed.add('HEAD')
    for (const method of methods) {
      if (method !== '*') allowed.add(method)
      else for (const each of ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT']) allowed.add(each)
    }
  }
  return [...allowed].sort()
}

function missed(outcome: 400 | 404 | 405 | 414): OracleMatch {
  return { outcome, pattern: '', params: {} }
}

/** Decoded segments; null if an escape is malformed; a lone '' stands for a path that nothing matches. */
function decodeSegments(raw: string): string[] | null {
  let parts: string[]
  try {
    parts = raw.split('/').map(decodeURIComponent)
  } catch {
    return null
  }
  if (raw === '/') return []
  parts.shift()
  if (parts.at(-1) === '') parts.pop()
  return parts.includes('') ? [''] : parts
}

interface Candidate {
  readonly pattern: string
  readonly methods: readonly string[]
  readonly segments: readonly Segment[]
  readonly params: Record<string, string>
}

function candidatesOf(routes: readonly OracleRoute[], path: readonly string[]): Candidate[] {
  return routes.flatMap(({ pattern, methods }) =>
    expandOptional(parsePattern(pattern)).flatMap((segments) => {
      const params = paramsOf(segments, path)
      return params === null ? [] : [{ pattern, methods, segments, params }]
    })
  )
}

function paramsOf(segments: readonly Segment[], path: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {}
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]
    const text = path[index]
    if (text === undefined || text === '') return null
    if (segment.kind === 'catchAll') {
      params[segment.name] = path.slice(index).join('/')
      return params
    }
    if (segment.kind === 'literal') {
      if (text !== segment.text) return null
    } else if (segment.kind === 'parameter') params[segment.name] = text
    else {
      const { prefix, suffix } = segment
      if (text.length <= prefix.length + suffix.length) return null
      if (!text.startsWith(prefix) || !text.endsWith(suffix)) return null
      params[segment.name] = text.slice(prefix.length, text.length - suffix.length)
    }
  }
  return segments.length === path.length ? params : null
}

/** Negative if `a` goes first: the first segment that differs in rank decides. */
function compare(a: readonly Segment[], b: readonly Segment[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [left, right] = [rank(a[index]), rank(b[index])]
    for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return left[at] - right[at]
  }
  return 0
}

/** Kind, then for literal-with-parameter: longest literal text, then longest prefix. */
function rank(segment: Segment): number[] {
  if (segment.kind === 'literal') return [0, 0, 0]
  if (segment.kind === 'mixed') {
    return [1, -segment.prefix.length - segment.suffix.length, -segment.prefix.length]
  }
  return segment.kind === 'parameter' ? [2, 0, 0] : [3, 0, 0]
}
