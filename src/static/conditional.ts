/** Conditional requests, RFC 9110 section 13. */
import { ifNoneMatch } from '@std/http/etag'

/** What a file's answer is known by. */
export interface Validators {
  readonly etag: string
  /** Milliseconds since the epoch, whole seconds; undefined when the file system knows no time. */
  readonly modified: number | undefined
}

/**
 * Validators of a file as it is sent with `coding`. The tag is weak: size and time of change are no proof of equal bytes.
 */
export function toValidators(info: Deno.FileInfo, coding: string | undefined): Validators {
  const time = info.mtime?.getTime()
  const tail = coding === undefined ? '' : `-${coding}`
  return {
    etag: `W/"${info.size.toString(16)}-${(time ?? 0).toString(16)}${tail}"`,
    modified: time === undefined ? undefined : Math.floor(time / 1000) * 1000,
  }
}

/** 412 or 304 when the request's conditions say so, else undefined. In the order of section 13.2.2. */
export function preconditionStatus(headers: Headers, { etag, modified }: Validators): 304 | 412 | undefined {
  const ifMatch = headers.get('if-match')
  if (ifMatch !== null) {
    // Strong comparison, which a weak tag never passes.
    if (ifMatch.trim() !== '*') return 412
  } else {
    const unmodifiedSince = toTime(headers.get('if-unmodified-since'))
    if (unmodifiedSince !== undefined && modified !== undefined && modified > unmodifiedSince) return 412
  }
  const noneMatch = headers.get('if-none-match')
  if (noneMatch !== null) return noneMatch !== '' && !ifNoneMatch(noneMatch, etag) ? 304 : undefined
  const modifiedSince = toTime(headers.get('if-modified-since'))
  return modifiedSince !== undefined && modified !== undefined && modified <= modifiedSince ? 304 : undefined
}

/** False when If-Range names another version. It asks for strong comparison, so only an exact Last-Modified passes here. */
export function rangeIsCurrent(headers: Headers, { modified }: Validators): boolean {
  const ifRange = headers.get('if-range')
  return ifRange === null || (modified !== undefined && toTime(ifRange) === modified)
}

/** Milliseconds of an HTTP date, RFC 9110 section 5.6.7; undefined for what is none, which section 13 says to ignore. */
function toTime(value: string | null): number | undefined {
  if (value === null || !/^[A-Z][a-z]{2,8}[, ]/.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}
