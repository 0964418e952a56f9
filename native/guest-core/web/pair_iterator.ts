/** The iterators of `Headers`, `URLSearchParams` and `FormData`: live, as they look the list up at each step. */

export type Pair<V> = readonly [name: string, value: V]

/** Which half of a pair an iterator gives. */
export type PairKind = 'keys' | 'values' | 'entries'

/** Makes iterators over one kind of list. */
export type PairIterators = <V>(
  list: () => readonly Pair<V>[],
  kind: PairKind,
) => IterableIterator<never>

interface PairState {
  readonly list: () => readonly Pair<unknown>[]
  readonly kind: PairKind
  index: number
}

/** A prototype for the iterators of `name`, and a function that makes them. */
export function definePairIterators(name: string): PairIterators {
  const states = new WeakMap<object, PairState>()
  const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
  const prototype = Object.create(iterator, {
    next: {
      enumerable: true,
      configurable: true,
      writable: true,
      value: function next(this: object): IteratorResult<unknown, undefined> {
        const state = states.get(this)
        if (state === undefined) throw new TypeError(`Cannot call next: this is no ${name} Iterator`)
        const list = state.list()
        if (state.index >= list.length) return { value: undefined, done: true }
        const pair = list[state.index++]
        const { kind } = state
        return { value: kind === 'keys' ? pair[0] : kind === 'values' ? pair[1] : [...pair], done: false }
      },
    },
    [Symbol.toStringTag]: { value: `${name} Iterator`, configurable: true },
  })
  return (list, kind) => {
    const made = Object.create(prototype)
    states.set(made, { list, kind, index: 0 })
    return made
  }
}

/** Calls back for each pair, as `forEach` does. */
export function forEachPair<V>(
  owner: object,
  list: () => readonly Pair<V>[],
  callback: unknown,
  self: unknown,
): void {
  if (typeof callback !== 'function') {
    throw new TypeError(`Cannot call forEach: the callback is ${typeof callback}, want a function`)
  }
  for (let index = 0; index < list().length; index++) {
    const [name, value] = list()[index]
    callback.call(self, value, name, owner)
  }
}
