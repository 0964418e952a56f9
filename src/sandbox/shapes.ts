/**
 * What a program is warmed up with: the shapes of calls that it had. No text, number or byte of theirs is kept, as what a warm-up leaves in a
 * snapshot every later call could find.
 */

/** Calls of a program that are remembered. */
const MAX_SHAPES = 4
/** How far one is looked into. */
const MAX_DEPTH = 4
const MAX_MEMBERS = 16
const MAX_TEXT = 64
/** Segments of a path that are words of an interface, not somebody's. */
const WORD = /^[a-z]{1,16}$/

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
  }

/** The shapes that a program had, each once. */
export class Shapes {
  readonly #known = new Map<string, CallShape>()

  /** All that are remembered. */
  get all(): readonly CallShape[] {
    return [...this.#known.values()]
  }

  /** Whether more are wanted. */
  get open(): boolean {
    return this.#known.size < MAX_SHAPES
  }

  addCall(entrypoint: string, method: string | undefined, args: readonly unknown[]): void {
    if (!this.open) return
    this.#add({ kind: 'call', entrypoint, method, args: args.map((value) => toShape(value, 0)) })
  }

  addFetch(entrypoint: string, request: Request, body: Uint8Array): void {
    if (!this.open) return
    const { pathname, searchParams } = new URL(request.url)
    const path = pathname.split('/').map((part) => part === '' || WORD.test(part) ? part : 'x').join('/')
    const names = [...new Set(searchParams.keys())].filter((name) => WORD.test(name))
    const query = names.map((name) => `${name}=x`).join('&')
    const isJson = /^application\/json\b/.test(request.headers.get('content-type') ?? '')
    this.#add({
      kind: 'fetch',
      entrypoint,
      method: request.method,
      path: query === '' ? path : `${path}?${query}`,
      type: isJson ? 'application/json' : '',
      body: isJson ? toJsonShape(body) : '',
    })
  }

  #add(shape: CallShape): void {
    const key = Deno.inspect(shape, { depth: MAX_DEPTH + 2 })
    if (!this.#known.has(key)) this.#known.set(key, shape)
  }
}

function toJsonShape(body: Uint8Array): string {
  if (body.length > 16_384) return ''
  try {
    return JSON.stringify(toShape(JSON.parse(new TextDecoder().decode(body)), 0))
  } catch {
    return ''
  }
}

function toShape(value: unknown, depth: number): unknown {
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
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((member) => toShape(member, depth + 1))
  if (value instanceof Date) return new Date(0)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return new Uint8Array(16)
  if (Object.getPrototypeOf(value) !== Object.prototype) return null
  // Names of members are the program's words or a user's: those that look like words stay.
  const members = Object.entries(value).slice(0, MAX_MEMBERS).filter(([name]) =>
    /^[A-Za-z_]\w{0,31}$/.test(name)
  )
  return Object.fromEntries(members.map(([name, member]) => [name, toShape(member, depth + 1)]))
}
