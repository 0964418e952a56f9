/** Options of type `T`; those that `D` names are always set. */
export type WithDefaults<T, D> = Omit<T, keyof D> & Required<Pick<T, keyof T & keyof D>>

/** The options, and the defaults of those that are not given or undefined. */
export function withDefaults<T extends object, D extends Partial<T>>(
  options: T,
  defaults: D,
): WithDefaults<T, D> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) } as WithDefaults<T, D>
}
