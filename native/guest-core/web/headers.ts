/** HTTP headers. https://fetch.spec.whatwg.org/#headers-class */
import { definePairIterators, forEachPair, type Pair } from './pair_iterator.ts'
import { expose, need, toByteText, toPairs } from './webidl.ts'

type Entry = [name: string, value: string]

const pairIterators = definePairIterators('Headers')

/** Makes the headers of a message that scripts may not change. */
export let freezeHeaders: (headers: Headers) => void
/** What iteration gives, sorted and combined. */
export let listHeaders: (headers: Headers) => readonly Pair<string>[]

export class Headers {
  /** Lower-case names, in the order in which they came. */
  readonly #list: Entry[] = []
  #sorted: readonly Entry[] | null = null
  #immutable = false

  static {
    freezeHeaders = (headers) => {
      headers.#immutable = true
    }
    listHeaders = (headers) => headers.#sort()
  }

  constructor(init?: unknown) {
    if (init === undefined) return
    if (Object(init) !== init) {
      throw new TypeError(`Cannot make Headers of ${init === null ? 'null' : typeof init}`)
    }
    // Of another Headers the list is what its iterator would give.
    if (init instanceof Headers && init[Symbol.iterator] === Headers.prototype[Symbol.iterator]) {
      for (const [name, value] of init.#list) this.#list.push([name, value])
      return
    }
    for (const [name, value] of toPairs(init as object, toHeaderText, 'Headers')) {
      this.#list.push([toName(name), toValue(value)])
    }
  }

  append(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'Headers.append')
    const key = toName(toHeaderText(name))
    const clean = toValue(toHeaderText(value))
    this.#change()
    this.#list.push([key, clean])
  }

  delete(name: unknown): void {
    need(arguments.length, 1, 'Headers.delete')
    const key = toName(toHeaderText(name))
    this.#change()
    this.#remove(key, 0)
  }

  get(name: unknown): string | null {
    need(arguments.length, 1, 'Headers.get')
    const key = toName(toHeaderText(name))
    let found: string | null = null
    for (const [other, value] of this.#list) {
      if (other === key) found = found === null ? value : `${found}, ${value}`
    }
    return found
  }

  getSetCookie(): string[] {
    return this.#list.filter(([name]) => name === 'set-cookie').map(([, value]) => value)
  }

  has(name: unknown): boolean {
    need(arguments.length, 1, 'Headers.has')
    const key = toName(toHeaderText(name))
    return this.#list.some(([other]) => other === key)
  }

  set(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'Headers.set')
    const key = toName(toHeaderText(name))
    const clean = toValue(toHeaderText(value))
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
    for (const [name, value] of this.#list) {
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

function toHeaderText(text: unknown): string {
  return toByteText(text, 'part of a header')
}

const KNOWN_NAME = /^[a-z-]+$/

/** A name in lower case. Throws `TypeError` for what is no token of RFC 9110. */
function toName(name: string): string {
  if (KNOWN_NAME.test(name)) return name
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new TypeError(`Cannot use ${JSON.stringify(name)} as the name of a header: want a token`)
  }
  return name.toLowerCase()
}

/** A value without white space around it. Throws `TypeError` for one that would break the message. */
function toValue(value: string): string {
  const clean = value.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
  if (/[\0\n\r]/.test(clean)) {
    throw new TypeError(`Cannot use ${JSON.stringify(clean)} as the value of a header: want one line`)
  }
  return clean
}
