/** The pairs of a query. https://url.spec.whatwg.org/#interface-urlsearchparams */
import { host } from './host.ts'
import { definePairIterators, forEachPair } from './pair_iterator.ts'
import { expose, need, toPairs, toScalarText } from './webidl.ts'

const pairIterators = definePairIterators('URLSearchParams')

/** Calls back whenever the pairs change by a script's doing: they are the query of a URL. */
export let linkSearch: (params: URLSearchParams, changed: () => void) => void
/** Exchanges the pairs for those of a query, without a call back. */
export let replaceSearch: (params: URLSearchParams, query: string) => void

export class URLSearchParams {
  #list: [string, string][] = []
  #changed: (() => void) | null = null

  static {
    linkSearch = (params, changed) => {
      params.#changed = changed
    }
    replaceSearch = (params, query) => {
      params.#list = parseQuery(query)
    }
  }

  constructor(init: unknown = '') {
    if (init !== null && (typeof init === 'object' || typeof init === 'function')) {
      this.#list = toPairs(init, toScalarText, 'URLSearchParams')
      if (!(Symbol.iterator in init)) this.#list = dropRepeated(this.#list)
      return
    }
    const text = toScalarText(init)
    this.#list = parseQuery(text.startsWith('?') ? text.slice(1) : text)
  }

  append(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'URLSearchParams.append')
    this.#list.push([toScalarText(name), toScalarText(value)])
    this.#changed?.()
  }

  delete(name: unknown, value?: unknown): void {
    need(arguments.length, 1, 'URLSearchParams.delete')
    const key = toScalarText(name)
    const wanted = value === undefined ? undefined : toScalarText(value)
    this.#list = this.#list.filter((pair) => pair[0] !== key || (wanted !== undefined && pair[1] !== wanted))
    this.#changed?.()
  }

  get(name: unknown): string | null {
    need(arguments.length, 1, 'URLSearchParams.get')
    const key = toScalarText(name)
    for (const pair of this.#list) if (pair[0] === key) return pair[1]
    return null
  }

  getAll(name: unknown): string[] {
    need(arguments.length, 1, 'URLSearchParams.getAll')
    const key = toScalarText(name)
    const values: string[] = []
    for (const pair of this.#list) if (pair[0] === key) values.push(pair[1])
    return values
  }

  has(name: unknown, value?: unknown): boolean {
    need(arguments.length, 1, 'URLSearchParams.has')
    const key = toScalarText(name)
    const wanted = value === undefined ? undefined : toScalarText(value)
    return this.#list.some((pair) => pair[0] === key && (wanted === undefined || pair[1] === wanted))
  }

  set(name: unknown, value: unknown): void {
    need(arguments.length, 2, 'URLSearchParams.set')
    const pair: [string, string] = [toScalarText(name), toScalarText(value)]
    const at = this.#list.findIndex((other) => other[0] === pair[0])
    if (at === -1) this.#list.push(pair)
    else {
      this.#list[at] = pair
      this.#list = this.#list.filter((other, index) => index <= at || other[0] !== pair[0])
    }
    this.#changed?.()
  }

  sort(): void {
    this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    this.#changed?.()
  }

  get size(): number {
    return this.#list.length
  }

  forEach(callback: unknown, self?: unknown): void {
    need(arguments.length, 1, 'URLSearchParams.forEach')
    forEachPair(this, () => this.#list, callback, self)
  }

  keys(): IterableIterator<string> {
    void this.#list
    return pairIterators(() => this.#list, 'keys')
  }

  values(): IterableIterator<string> {
    void this.#list
    return pairIterators(() => this.#list, 'values')
  }

  entries(): IterableIterator<[string, string]> {
    void this.#list
    return pairIterators(() => this.#list, 'entries')
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, string]>

  toString(): string {
    return host.formatQuery(this.#list)
  }
}

expose(URLSearchParams, 'URLSearchParams')
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
})

/** The pairs of a query; without a call of the host where nothing is encoded. */
function parseQuery(query: string): [string, string][] {
  if (query === '') return []
  if (/[%+]/.test(query)) return host.parseQuery(query)
  const pairs: [string, string][] = []
  for (const item of query.split('&')) {
    if (item === '') continue
    const equals = item.indexOf('=')
    pairs.push(equals === -1 ? [item, ''] : [item.slice(0, equals), item.slice(equals + 1)])
  }
  return pairs
}

/** Two keys of a record may become equal when they are converted: the later value counts, in the earlier place. */
function dropRepeated(pairs: [string, string][]): [string, string][] {
  return [...new Map(pairs)]
}
