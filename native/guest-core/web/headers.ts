/** HTTP headers. https://fetch.spec.whatwg.org/#headers-class */
import { definePairIterators, forEachPair, type Pair } from './pair_iterator.ts'
import { expose, isByteText, need, toPairs, toText } from './webidl.ts'

type Entry = [name: string, value: string]

const pairIterators = definePairIterators('Headers')

/** Makes the headers of a message that scripts may not change. */
export let freezeHeaders: (headers: Headers) => void
/**
 * Headers of pairs that are known to be good: lower-case names, values without white space around them. The list is the caller's
 * until a script changes the headers.
 */
export let trustedHeaders: (pairs: readonly Pair<string>[]) => Headers

export class Headers {
  /** Lower-case names, in the order in which they came. */
  #list: Entry[] = []
  /** Somebody else has the list as well: it is copied before a change. */
  #shared = false
  #sorted: readonly Entry[] | null = null
  #immutable = false

  static {
    freezeHeaders = (headers) => {
      headers.#immutable = true
    }
    trustedHeaders = (pairs) => {
      const headers = new Headers()
      headers.#list = pairs as Entry[]
      headers.#shared = true
      return headers
    }
  }

  constructor(init?: unknown) {
    if (init === undefined) return
    if (Object(init) !== init) {
      throw new TypeError(`Cannot make Headers of ${init === null ? 'null' : typeof init}`)
    }
    // Of another Headers the list is what its iterator would give.
    if (init instanceof Headers && init[Symbol.iterator] === Headers.prototype[Symbol.iterator]) {
      const sorted = init.#sort()
      // Combined with an empty value, one ends in white space.
      const trimmed = sorted.some(([, value]) => value.endsWith(' '))
      this.#list = trimmed ? sorted.map(([name, value]) => [name, toValue(value)]) : sorted as Entry[]
      this.#shared = true
      return
    }
    this.#list = toPairs(init as object, toText, 'Headers')
    for (let at = 0; at < this.#list.length; at++) {
      const entry = this.#list[at]
      entry[0] = toName(entry[0])
      entry[1] = toValue(entry[1])
    }
  }

  append(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'Headers.append')
    const key = toName(toText(name))
    const clean = toValue(toText(value))
    this.#change()
    this.#list.push([key, clean])
  }

  delete(name: unknown): void {
    need(arguments.length, 1, 'Headers.delete')
    const key = toName(toText(name))
    this.#change()
    this.#remove(key, 0)
  }

  get(name: unknown): string | null {
    need(arguments.length, 1, 'Headers.get')
    const key = toName(toText(name))
    let found: string | null = null
    const list = this.#list
    for (let at = 0; at < list.length; at++) {
      const entry = list[at]
      if (entry[0] === key) found = found === null ? entry[1] : `${found}, ${entry[1]}`
    }
    return found
  }

  getSetCookie(): string[] {
    return this.#list.filter(([name]) => name === 'set-cookie').map(([, value]) => value)
  }

  has(name: unknown): boolean {
    need(arguments.length, 1, 'Headers.has')
    const key = toName(toText(name))
    return this.#list.some(([other]) => other === key)
  }

  set(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'Headers.set')
    const key = toName(toText(name))
    const clean = toValue(toText(value))
    this.#change()
    const at = this.#list.findIndex(([other]) => other === key)
    if (at === -1) {
      this.#list.push([key, clean])
      return
    }
    this.#list[at] = [key, clean]
    this.#remove(key, at + 1)
  }

  forEach(callback: unknown, self?: unknown): void {
    need(arguments.length, 1, 'Headers.forEach')
    forEachPair(this, () => this.#sort(), callback, self)
  }

  keys(): IterableIterator<string> {
    this.#sort()
    return pairIterators(() => this.#sort(), 'keys')
  }

  values(): IterableIterator<string> {
    this.#sort()
    return pairIterators(() => this.#sort(), 'values')
  }

  entries(): IterableIterator<[string, string]> {
    this.#sort()
    return pairIterators(() => this.#sort(), 'entries')
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>

  #change(): void {
    if (this.#immutable) throw new TypeError('Cannot change these headers: they are immutable')
    this.#sorted = null
    if (!this.#shared) return
    this.#list = this.#list.slice()
    this.#shared = false
  }

  #remove(key: string, from: number): void {
    const list = this.#list
    let kept = from
    for (let at = from; at < list.length; at++) {
      if (list[at][0] !== key) list[kept++] = list[at]
    }
    list.length = kept
  }

  /** "Sort and combine": one pair a name, but for Set-Cookie. */
  #sort(): readonly Entry[] {
    if (this.#sorted !== null) return this.#sorted
    const combined: Entry[] = []
    const places = new Map<string, number>()
    const list = this.#list
    for (let index = 0; index < list.length; index++) {
      const [name, value] = list[index]
      const at = places.get(name)
      if (at === undefined || name === 'set-cookie') {
        places.set(name, combined.length)
        combined.push([name, value])
      } else combined[at][1] += `, ${value}`
    }
    return this.#sorted = combined.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
  }
}

expose(Headers, 'Headers')
Object.defineProperty(Headers.prototype, Symbol.iterator, {
  value: Headers.prototype.entries,
  writable: true,
  configurable: true,
})

/** Names that were seen to be good, with their lower-case form: a look-up costs the interpreter a twentieth of the pattern. */
const names = new Map<string, string>()
const NAMES_MAX = 256

/** A name in lower case. Throws `TypeError` for what is no token of RFC 9110. */
function toName(name: string): string {
  const known = names.get(name)
  if (known !== undefined) return known
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new TypeError(`Cannot use ${JSON.stringify(name)} as the name of a header: want a token`)
  }
  const lower = name.toLowerCase()
  if (names.size < NAMES_MAX && name.length <= 64) names.set(name, lower)
  return lower
}

/** A value without white space around it. Throws `TypeError` for one that would break the message, or is not made of bytes. */
function toValue(value: string): string {
  if (!/[^\x20-\x7e]|^ | $/.test(value)) return value
  const clean = value.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
  if (/[\0\n\r]/.test(clean) || !isByteText(clean)) {
    throw new TypeError(
      `Cannot use ${JSON.stringify(clean)} as the value of a header: want one line of bytes`,
    )
  }
  return clean
}
