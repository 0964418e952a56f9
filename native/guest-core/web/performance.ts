/** The guest's clock, and marks on it. https://w3c.github.io/user-timing/ */
import { DOMException } from './dom_exception.ts'
import { host } from './host.ts'
import { structuredClone } from './structured_clone.ts'
import { expose, need, toDictionary, toText } from './webidl.ts'

const KEY = Symbol('Performance')

export class PerformanceEntry {
  readonly #entry: { name: string; entryType: string; startTime: number; duration: number; detail: unknown }

  constructor(key?: unknown, entryType = '', name = '', startTime = 0, duration = 0, detail: unknown = null) {
    if (key !== KEY) throw new TypeError('Illegal constructor: PerformanceEntry')
    this.#entry = { name, entryType, startTime, duration, detail }
  }

  get name(): string {
    return this.#entry.name
  }

  get entryType(): string {
    return this.#entry.entryType
  }

  get startTime(): number {
    return this.#entry.startTime
  }

  get duration(): number {
    return this.#entry.duration
  }

  get detail(): unknown {
    return this.#entry.detail
  }

  toJSON(): object {
    return { ...this.#entry }
  }
}

expose(PerformanceEntry, 'PerformanceEntry')

export class Performance {
  #origin = NaN
  #started = 0
  #entries: PerformanceEntry[] = []

  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: Performance')
  }

  get timeOrigin(): number {
    this.#start()
    return this.#origin
  }

  now(): number {
    this.#start()
    return host.monotonicMs() - this.#started
  }

  mark(name: unknown, options?: unknown): PerformanceEntry {
    need(arguments.length, 1, 'Performance.mark')
    const { startTime, detail } = toDictionary(options, 'the options of mark')
    const start = startTime === undefined ? this.now() : Number(startTime)
    if (!(start >= 0)) throw new TypeError(`Cannot mark at ${start}: want a time from 0`)
    return this.#keep(
      new PerformanceEntry(KEY, 'mark', toText(name), start, 0, structuredClone(detail ?? null)),
    )
  }

  measure(name: unknown, startOrOptions?: unknown, endMark?: unknown): PerformanceEntry {
    need(arguments.length, 1, 'Performance.measure')
    const options = typeof startOrOptions === 'object'
      ? toDictionary(startOrOptions, 'the options of measure')
      : { start: startOrOptions, end: endMark }
    const { start, end, duration, detail } = options as Record<string, unknown>
    const until = end !== undefined
      ? this.#timeOf(end)
      : start !== undefined && duration !== undefined
      ? this.#timeOf(start) + Number(duration)
      : this.now()
    const from = start !== undefined
      ? this.#timeOf(start)
      : duration !== undefined
      ? until - Number(duration)
      : 0
    const kept = structuredClone(detail ?? null)
    return this.#keep(new PerformanceEntry(KEY, 'measure', toText(name), from, until - from, kept))
  }

  clearMarks(name?: unknown): void {
    this.#clear('mark', name)
  }

  clearMeasures(name?: unknown): void {
    this.#clear('measure', name)
  }

  getEntries(): PerformanceEntry[] {
    return this.#entries.toSorted((a, b) => a.startTime - b.startTime)
  }

  getEntriesByName(name: unknown, type?: unknown): PerformanceEntry[] {
    return this.getEntries().filter((entry) =>
      entry.name === toText(name) && (type === undefined || entry.entryType === toText(type))
    )
  }

  getEntriesByType(type: unknown): PerformanceEntry[] {
    return this.getEntries().filter((entry) => entry.entryType === toText(type))
  }

  toJSON(): object {
    return { timeOrigin: this.timeOrigin }
  }

  /** The origin is the first use of the clock: nothing is read while the surface is set up. */
  #start(): void {
    if (!Number.isNaN(this.#origin)) return
    this.#origin = host.realMs()
    this.#started = host.monotonicMs()
  }

  #keep(entry: PerformanceEntry): PerformanceEntry {
    this.#entries.push(entry)
    return entry
  }

  #clear(type: string, name: unknown): void {
    this.#entries = this.#entries.filter((entry) =>
      entry.entryType !== type || (name !== undefined && entry.name !== toText(name))
    )
  }

  #timeOf(mark: unknown): number {
    if (typeof mark === 'number') return mark
    const entry = this.getEntriesByName(mark, 'mark').at(-1)
    if (entry !== undefined) return entry.startTime
    throw new DOMException(`Cannot measure from the mark ${toText(mark)}: there is none`, 'SyntaxError')
  }
}

expose(Performance, 'Performance')

export const performance = new Performance(KEY)
