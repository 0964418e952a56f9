/**
 * What a program is warmed up with: the shapes of calls that it had. No text, number or byte of theirs is kept, as what a warm-up leaves in a
 * snapshot every later call could find. Words stay that the program itself has: names of members, segments of paths.
 */

import type { Sample } from '../reach/calls/protocol.ts'
import { encodeValue } from '../values/encode.ts'
import type { GuestProgram } from './message.ts'

/** Calls of a program that are remembered, and its calls of the host. */
const MAX_SHAPES = 4
const MAX_SAMPLES = 64
/** How far one is looked into. */
const MAX_DEPTH = 4
const MAX_MEMBERS = 16
const MAX_TEXT = 64
/** What may be a word of an interface. */
const WORD = /^[A-Za-z_]\w{0,63}$/
/** Characters of a program that are looked through for words. */
const MAX_SOURCE = 1 << 20

/** A call of which nothing but its shape is left. */
export type CallShape =
  | {
    readonly kind: 'call'
    readonly entrypoint: string
    readonly method: string | undefined
    readonly args: readonly unknown[]
  }
  | {
    readonly kind: 'fetch'
    readonly entrypoint: string
    readonly method: string
    readonly path: string
    readonly type: string
    readonly body: string
    /** As JSON; undefined: there were none; null: such that JSON has not, or that of another entry point. */
    readonly props: string | undefined | null
  }

/** The shapes that a program had, each once. */
export class Shapes {
  readonly #isOwn: (word: string) => boolean
  readonly #known = new Map<string, CallShape>()
  readonly #samples = new Map<string, Sample>()

  /** `program`: what it has in its text is no secret of a caller's. */
  constructor({ modules }: GuestProgram) {
    const texts = modules.flatMap(([, , content]) => typeof content === 'string' ? [content] : [])
    const source = texts.join('\n').slice(0, MAX_SOURCE)
    this.#isOwn = (word) => WORD.test(word) && source.includes(word)
  }

  /** All that are remembered. */
  get all(): readonly CallShape[] {
    return [...this.#known.values()]
  }

  /** What the host's functions gave, each once: as little of it is left. */
  get samples(): readonly Sample[] {
    return [...this.#samples.values()]
  }

  /** Whether more are wanted. */
  get open(): boolean {
    return this.#known.size < MAX_SHAPES
  }

  addCall(entrypoint: string, method: string | undefined, args: readonly unknown[]): void {
    if (!this.open) return
    this.#add({ kind: 'call', entrypoint, method, args: args.map((value) => this.#toShape(value, 0)) })
  }

  /** `props`: null for those that are to be left out. */
  addFetch(entrypoint: string, request: Request, body: Uint8Array, props: unknown): void {
    if (!this.open) return
    const { pathname, searchParams } = new URL(request.url)
    const path = pathname.split('/').map((part) => part === '' || this.#isOwn(part) ? part : 'x').join('/')
    const names = [...new Set(searchParams.keys())].filter(this.#isOwn)
    const query = names.map((name) => `${name}=x`).join('&')
    const isJson = /^application\/json\b/.test(request.headers.get('content-type') ?? '')
    this.#add({
      kind: 'fetch',
      entrypoint,
      method: request.method,
      path: query === '' ? path : `${path}?${query}`,
      type: isJson ? 'application/json' : '',
      body: isJson ? this.#toJsonShape(body) : '',
      props: props === null || props === undefined ? props : JSON.stringify(this.#toShape(props, 0) ?? {}),
    })
  }

  /** Notes what a function of the host gave. */
  addAnswer(binding: string, member: string | null, value: unknown): void {
    const key = `${binding} ${member ?? ''}`
    if (this.#samples.size >= MAX_SAMPLES || this.#samples.has(key)) return
    const { text, raw } = encodeValue(this.#toShape(value, 0), { stacks: false })
    // One with buffers is not of text alone.
    if (raw.length === 0) this.#samples.set(key, [binding, member, text])
  }

  #add(shape: CallShape): void {
    const key = Deno.inspect(shape, { depth: MAX_DEPTH + 2 })
    if (!this.#known.has(key)) this.#known.set(key, shape)
  }

  #toJsonShape(body: Uint8Array): string {
    if (body.length > 16_384) return ''
    try {
      return JSON.stringify(this.#toShape(JSON.parse(new TextDecoder().decode(body)), 0))
    } catch {
      return ''
    }
  }

  #toShape(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        return 'x'.repeat(Math.min(value.length, MAX_TEXT))
      case 'number':
        return Number.isInteger(value) ? 1 : 1.5
      case 'bigint':
        return 1n
      case 'object':
        break
      default:
        return typeof value === 'boolean' ? value : undefined
    }
    if (value === null || depth === MAX_DEPTH) return null
    if (Array.isArray(value)) {
      return value.slice(0, MAX_MEMBERS).map((member) => this.#toShape(member, depth + 1))
    }
    if (value instanceof Date) return new Date(0)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return new Uint8Array(16)
    if (Object.getPrototypeOf(value) !== Object.prototype) return null
    const members = Object.entries(value).slice(0, MAX_MEMBERS).filter(([name]) => this.#isOwn(name))
    return Object.fromEntries(members.map(([name, member]) => [name, this.#toShape(member, depth + 1)]))
  }
}
