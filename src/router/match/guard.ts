import { parseSegment, type Segment } from './pattern.ts'
import { decodeEscapes, decodeRest, escapeLiteral } from './pathname.ts'

/** Whether a path in the normal form of `normalizePathname` lies at or below what is guarded. */
export type Guard = (pathname: string) => boolean

/**
 * Compiles the path of a guard: `/admin`, `/admin/`, `/admin/*` and `/admin/**` all guard `/admin` and everything
 * below it, `/` and `/**` guard everything. Segments may be parameters: `/users/[id]/keys`.
 *
 * The guard compares the same normal form as the router, letter case included; empty segments are skipped, so
 * that `//admin` is guarded too, although no route matches it. Escapes in `pattern` are decoded.
 *
 * Throws `TypeError` if the pattern is relative, holds `*` elsewhere, or could never match.
 */
export function compileGuard(pattern: string): Guard {
  const segments = parseGuard(pattern)
  if (segments.length === 0) return () => true
  if (segments.every((segment) => segment.kind === 'literal')) {
    const path = '/' + segments.map((segment) => escapeLiteral(segment.text)).join('/')
    const below = path + '/'
    return (pathname) => {
      const clean = withoutEmptySegments(pathname)
      return clean === path || clean.startsWith(below)
    }
  }
  return (pathname) => {
    const parts = withoutEmptySegments(pathname).slice(1).split('/')
    return parts.length >= segments.length &&
      segments.every((segment, index) => matchesSegment(segment, parts[index]!))
  }
}

function withoutEmptySegments(pathname: string): string {
  return pathname.indexOf('//') === -1 ? pathname : pathname.replace(/\/{2,}/g, '/')
}

function matchesSegment(segment: Segment, part: string): boolean {
  const text = decodeRest(part)
  if (segment.kind === 'literal') return text === segment.text
  if (segment.kind !== 'mixed') return text !== ''
  const { prefix, suffix } = segment
  return text.length > prefix.length + suffix.length && text.startsWith(prefix) && text.endsWith(suffix)
}

function parseGuard(pattern: string): Segment[] {
  const bare = pattern.replace(/\/\*{0,2}$/, '')
  const decoded = decodeEscapes(bare)
  if (decoded === null) throw guardError(pattern, 'well-formed escapes')
  if (!pattern.startsWith('/')) throw guardError(pattern, `a leading '/'`)
  if (bare === '') return []
  return decoded.slice(1).split('/').map((part) => {
    if (part.includes('*')) throw guardError(pattern, `'*' only as a last '/*' or '/**'`)
    if (part.startsWith(':')) throw guardError(pattern, `a parameter as [${part.slice(1)}]`)
    if (/%2F/.test(part)) throw guardError(pattern, 'no escaped slash')
    let segment: Segment
    try {
      segment = parseSegment(part.replaceAll('%25', '%'), pattern)
    } catch (error) {
      throw guardError(pattern, 'well-formed segments', error)
    }
    if (segment.kind === 'catchAll') throw guardError(pattern, `'/**' for a catch-all`)
    if (segment.kind === 'parameter' && segment.optional) throw guardError(pattern, 'no optional segment')
    return segment
  })
}

function guardError(pattern: string, wanted: string, cause?: unknown): TypeError {
  return new TypeError(`compile guard: '${pattern}', wanted ${wanted}`, { cause })
}
