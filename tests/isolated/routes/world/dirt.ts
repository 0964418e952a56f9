/** What a request can leave behind, and what the next one sees of it. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  memoryMb: 512,
  env: ['MAYFLY_SEEN'],
  warmup: [{ path: '/dirt' }],
}

interface World {
  leaked?: unknown
  polluted?: unknown
}

let counter = 0
let fired = 0
const closure = counting()
const kept: unknown[] = []
const map = new Map<string, number>()
const buffer = new Uint8Array(1 << 16)
const shared = { nested: { value: 'as booted' } }
class Base {
  static count = 0
  #secret = 'as booted'
  secret(value?: string): string {
    if (value !== undefined) this.#secret = value
    return this.#secret
  }
}
const base = new Base()

/** A number of everything that the writers below touch. */
export function GET(ctx: Context): Response {
  return ctx.send.json(look())
}

/** Looks, writes everywhere, and looks again. */
export async function POST(ctx: Context): Promise<Response> {
  const before = look()
  for (const write of Object.values(WRITERS)) await write()
  return ctx.send.json({ before, after: look() })
}

function look(): Record<string, unknown> {
  return {
    counter,
    fired,
    closure: closure.read(),
    kept: kept.length,
    map: map.size,
    buffer: buffer.reduce((sum, value) => sum + value, 0),
    shared: shared.nested.value,
    frozen: Object.isFrozen(shared),
    fields: Base.count,
    secret: base.secret(),
    global: (globalThis as World).leaked ?? null,
    prototype: ({} as World).polluted ?? null,
    array: [1, 2, 3].map((value) => value + 1),
    json: JSON.parse('1'),
    fetch: typeof fetch,
    then: Promise.prototype.then.toString().includes('[native code]'),
    regexp: /x/.lastIndex + ((RegExp as unknown as { $1?: string }).$1 ?? '').length,
    env: Deno.env.get('MAYFLY_SEEN') ?? null,
    symbol: Symbol.keyFor(Symbol.for('mayfly')) ?? null,
    // Where there is no WebAssembly, `Intl` refuses.
    locale: typeof WebAssembly === 'undefined' ? null : new Intl.NumberFormat('en').format(1234.5),
    wasm: typeof WebAssembly === 'undefined' ? null : simd().lane(),
  }
}

const WRITERS: Readonly<Record<string, () => unknown>> = {
  counter: () => counter += 7,
  closure: () => closure.write(),
  heap: () => kept.push(new Array(6_500_000).fill(counter), new Uint8Array(50 << 20).fill(7)),
  map: () => map.set('a', 1),
  buffer: () => buffer.fill(255),
  shared: () => Object.freeze(Object.assign(shared.nested, { value: 'written' }) && shared),
  class: () => base.secret(String(++Base.count)),
  global: () => (globalThis as World).leaked = 'leak',
  prototype: () => (Object.prototype as World).polluted = 'pollution',
  array: () => Array.prototype.map = () => [],
  json: () => JSON.parse = () => 'replaced',
  fetch: () => delete (globalThis as { fetch?: unknown }).fetch,
  regexp: () => /(leak)/.exec('leak'),
  env: () => {
    try {
      Deno.env.set('MAYFLY_SEEN', 'written')
    } catch {
      // No permission to write is as good.
    }
  },
  format: () =>
    typeof Intl !== 'undefined' &&
    Object.defineProperty(Intl.NumberFormat.prototype, 'format', { value: () => 'replaced' }),
  timers: () => {
    for (let i = 0; i < 100; i++) setTimeout(() => fired++, 0)
    setInterval(() => fired++, 1)
  },
  microtask: () => void Promise.resolve().then(() => fired++),
  then: () => {
    const { then } = Promise.prototype
    Promise.prototype.then = function (this: Promise<unknown>, done, failed) {
      return then.call(this, done, failed) as never
    }
  },
  wasm: () => typeof WebAssembly !== 'undefined' && simd().set(0x5eed),
  pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
}

function counting(): { read(): number; write(): void } {
  let count = 0
  return { read: () => count, write: () => void count++ }
}

interface Lanes {
  set(value: number): void
  lane(): number
}

let lanes: Lanes | undefined

/** `(global (mut v128))`, `set`: splat into it, `lane`: its first lane. */
const LANES = 'AGFzbQEAAAABCQJgAX8AYAABfwMDAgABBhYBewH9DAAAAAAAAAAAAAAAAAAAAAAL' +
  'Bw4CA3NldAAABGxhbmUAAQoSAggAIAD9ESQACwcAIwD9GwAL'

/** WebAssembly with a global of 128 bits, made once. */
function simd(): Lanes {
  if (lanes !== undefined) return lanes
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.fromBase64(LANES)))
  return lanes = exports as unknown as Lanes
}
