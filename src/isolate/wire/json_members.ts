/** The members of an object that have a JSON form, as JSON; the others are left out. */
export function toJsonMembers(object: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(object)
  } catch {
    const members = Object.entries(object).filter(([, value]) => hasJson(value))
    return JSON.stringify(Object.fromEntries(members))
  }
}

/** Whether a value has a JSON form: a function, a cycle, a bigint and a `toJSON` that throws have none. */
export function hasJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
