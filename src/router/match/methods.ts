/** The HTTP methods that a route file may export, sorted, as `Allow` lists them. */
export const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const

/** One of {@link METHODS}. */
export type Method = typeof METHODS[number]

/** Stands for every method, known or not, in `insert` and in the route table. */
export const ANY_METHOD = '*'

const known: ReadonlySet<string> = new Set(METHODS)

/** Whether `name` is, letter for letter, a method that a route may export. */
export function isMethod(name: string): name is Method {
  return known.has(name)
}
