/** Runs Standard Schemas and reads the issues that they find. */
import type { StandardIssue, StandardSchema } from '../context/schema_types.ts'

/** True for a Standard Schema v1, which may be an object or a function. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return typeof standard === 'object' && standard !== null && standard.version === 1 &&
    typeof standard.validate === 'function'
}

/** An issue's path with plain keys: text, or numbers for places in arrays. */
export function issuePath(issue: StandardIssue): (string | number)[] {
  return (issue.path ?? []).map((part) => {
    const key = typeof part === 'object' ? part.key : part
    return typeof key === 'symbol' ? String(key) : key
  })
}
