import { levenshteinDistance } from '@std/text'
import type { App } from '../app.ts'

/** Routes that one answer names. */
const MOST_ROUTES = 3
/** Characters of a path that are compared; a longer path is no typing error. */
const MOST_COMPARED = 200

/**
 * What development says where no route matches `path`: the files that are there for it and serve nothing, with why, else the routes that are
 * near.
 */
export function describeMissingRoute({ routes, skipped }: App, path: string): string {
  const head = `No route matches ${path}`
  const idle = [...skipped].filter(([, { pattern }]) =>
    pattern !== undefined && slipsBetween(path, pattern) === 0
  )
  if (idle.length > 0) {
    return `${head}: ${
      idle.map(([file, { reasons }]) => `${file} serves nothing: ${reasons.join('; ')}`).join('. ')
    }`
  }
  const near = routes.table.routes
    .map(({ file, pattern }) => ({ file, pattern, slips: slipsBetween(path, pattern) }))
    .filter(({ slips }) => slips <= Math.ceil(path.length / 4))
    .sort((a, b) => a.slips - b.slips)
    .slice(0, MOST_ROUTES)
    .map(({ file, pattern }) => `${pattern} (${file})`)
  return near.length === 0 ? head : `${head}, did you mean ${near.join(' or ')}`
}

/** Slips that lead from a path to one that the pattern takes; a parameter takes any segment. Infinity where their lengths differ too much. */
function slipsBetween(path: string, pattern: string): number {
  if (path.length > MOST_COMPARED) return Infinity
  const parts = path.split('/')
  const wanted = pattern.split('/')
  const catchAll = wanted.findIndex((part) => part.includes('[...'))
  const count = catchAll === -1 ? wanted.length : catchAll
  if (catchAll === -1 ? parts.length !== count : parts.length < count) return Infinity
  return wanted.slice(0, count).reduce((slips, part, index) => {
    const given = parts[index] ?? ''
    return slips + (part.includes('[') ? Number(given === '') : levenshteinDistance(given, part))
  }, 0)
}
