/** The entries of a form. https://xhr.spec.whatwg.org/#interface-formdata */
import { Blob, blobBytes, File } from './blob.ts'
import { definePairIterators, forEachPair, type Pair } from './pair_iterator.ts'
import { expose, need, toScalarText } from './webidl.ts'

type Value = string | File

const pairIterators = definePairIterators('FormData')

/** The entries of a form, in place. */
export let formEntries: (form: FormData) => readonly Pair<Value>[]

export class FormData {
  #list: [string, Value][] = []

  static {
    formEntries = (form) => form.#list
  }

  constructor(form?: unknown) {
    if (form !== undefined) throw new TypeError('Cannot make FormData of a form: there are none here')
  }

  append(name: unknown, value: unknown, filename?: unknown): void {
    need(arguments.length, 2, 'FormData.append')
    this.#list.push(toEntry(name, value, filename, arguments.length > 2))
  }

  delete(name: unknown): void {
    need(arguments.length, 1, 'FormData.delete')
    const key = toScalarText(name)
    this.#list = this.#list.filter((entry) => entry[0] !== key)
  }

  get(name: unknown): Value | null {
    need(arguments.length, 1, 'FormData.get')
    const key = toScalarText(name)
    return this.#list.find((entry) => entry[0] === key)?.[1] ?? null
  }

  getAll(name: unknown): Value[] {
    need(arguments.length, 1, 'FormData.getAll')
    const key = toScalarText(name)
    return this.#list.filter((entry) => entry[0] === key).map((entry) => entry[1])
  }

  has(name: unknown): boolean {
    need(arguments.length, 1, 'FormData.has')
    const key = toScalarText(name)
    return this.#list.some((entry) => entry[0] === key)
  }

  set(name: unknown, value: unknown, filename?: unknown): void {
    need(arguments.length, 2, 'FormData.set')
    const entry = toEntry(name, value, filename, arguments.length > 2)
    const at = this.#list.findIndex((other) => other[0] === entry[0])
    if (at === -1) {
      this.#list.push(entry)
      return
    }
    this.#list[at] = entry
    this.#list = this.#list.filter((other, index) => index <= at || other[0] !== entry[0])
  }

  forEach(callback: unknown, self?: unknown): void {
    need(arguments.length, 1, 'FormData.forEach')
    forEachPair(this, () => this.#list, callback, self)
  }

  keys(): IterableIterator<string> {
    void this.#list
    return pairIterators(() => this.#list, 'keys')
  }

  values(): IterableIterator<Value> {
    void this.#list
    return pairIterators(() => this.#list, 'values')
  }

  entries(): IterableIterator<[string, Value]> {
    void this.#list
    return pairIterators(() => this.#list, 'entries')
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, Value]>
}

expose(FormData, 'FormData')
Object.defineProperty(FormData.prototype, Symbol.iterator, {
  value: FormData.prototype.entries,
  writable: true,
  configurable: true,
})

/** "Create an entry": a Blob becomes a File. A text's file name is left out, as Deno does it; the standard refuses it. */
function toEntry(name: unknown, value: unknown, filename: unknown, named: boolean): [string, Value] {
  const key = toScalarText(name)
  if (!(value instanceof Blob)) return [key, toScalarText(value)]
  if (value instanceof File && !named) return [key, value]
  const called = named ? toScalarText(filename) : 'blob'
  const lastModified = value instanceof File ? value.lastModified : undefined
  return [key, new File([blobBytes(value)], called, { type: value.type, lastModified })]
}
