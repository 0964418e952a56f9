/** Options that are all set: `Required` takes no `undefined` away under `exactOptionalPropertyTypes`. */
export type AllSet<T> = { [Name in keyof T]-?: Exclude<T[Name], undefined> }

/** Options that are set or not there, never there and undefined. */
export type SetOrAbsent<T> = { [Name in keyof T]: Exclude<T[Name], undefined> }

/** Options of type `T`; those that `D` names are always set. */
export type WithDefaults<T, D> = SetOrAbsent<Omit<T, keyof D>> & AllSet<Pick<T, keyof T & keyof D>>

/** The options, and the defaults of those that are not given or undefined. */
export function withDefaults<T extends object, D extends Partial<T>>(
  options: T,
  defaults: D,
): WithDefaults<T, D> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) } as WithDefaults<T, D>
}
