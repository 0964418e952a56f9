/**
 * Makes the objects of one prototype stand in for those of another: members that they do not have themselves are those of the
 * real object behind `this`, and so is their constructor.
 */
export function delegate<T extends object>(
  prototype: object,
  native: T,
  toReal: (standIn: T) => T,
): void {
  Reflect.deleteProperty(prototype, 'constructor')
  Object.setPrototypeOf(prototype, native)
  for (const key of Reflect.ownKeys(native)) {
    if (key === 'constructor' || key === Symbol.toStringTag || Object.hasOwn(prototype, key)) continue
    const described = Object.getOwnPropertyDescriptor(native, key)!
    const { get, value } = described
    if (get !== undefined) {
      described.get = function (this: T) {
        return get.call(toReal(this))
      }
    } else if (typeof value === 'function') {
      described.value = function (this: T, ...args: unknown[]) {
        return value.apply(toReal(this), args)
      }
    } else continue
    Object.defineProperty(prototype, key, described)
  }
}
