/** Says that a value has parts that a shallow copy would share. */
export const NOT_FLAT: unique symbol = Symbol('not flat')

/**
 * A copy of a primitive or of a plain object of primitives, equal to what a structured clone would give and much
 * cheaper; {@linkcode NOT_FLAT} for everything else.
 */
export function flatCopy(value: unknown): unknown {
  if (isPrimitive(value)) return value
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return NOT_FLAT
  const copy: Record<string, unknown> = {}
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    const part = record[key]
    if (!isPrimitive(part) || key === '__proto__') return NOT_FLAT
    copy[key] = part
  }
  return copy
}

function isPrimitive(value: unknown): boolean {
  const type = typeof value
  return value === null || (type !== 'object' && type !== 'function' && type !== 'symbol')
}
