/**
 * `Math.random` of other realms. Each context of `node:vm` has a generator of V8's, which a snapshot freezes and nothing can seed anew. So
 * the first script that runs in a context finds another one there, made of that realm's own functions: xoshiro128** (Blackman and Vigna,
 * 2018). It looks at the words that each request's seed leaves for all realms, and begins anew when they are others.
 */
import { onSeed } from './random.ts'

/** What is used of `node:vm`. */
interface VmModule {
  isContext(value: object): boolean
  readonly Script: new (source: string, options?: { filename: string }) => VmScript
}

interface VmScript {
  runInContext(context: object, options?: unknown): unknown
}

/** Takes a word of the realm's own, and the shared ones: how many seeds there were, and four words of the last. */
type Install = (own: number, shared: Uint32Array) => void

/** Runs in the other realm: its code reaches nothing of this one, as the shared words stay in a closure. */
const SOURCE = `((own, shared) => {
  let a, b, c, d, seen = -1
  const rotate = (value, bits) => value << bits | value >>> (32 - bits)
  // Without the realm's own code, which may replace what it has by name.
  const multiply = (x, y) => ((x & 0xffff) * y + (((x >>> 16) * y & 0xffff) << 16)) >>> 0
  const next = () => {
    const word = multiply(rotate(multiply(b, 5), 7), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 11)
    return word >>> 0
  }
  const draw = () => {
    if (seen !== shared[0]) {
      seen = shared[0]
      a = shared[1] ^ own
      b = shared[2]
      c = shared[3]
      d = shared[4] | 1
      for (let i = 0; i < 16; i++) next()
    }
    return next()
  }
  Math.random = { random() { return ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992 } }.random
})`

/** Gives every context in which a script runs a generator that each request seeds. `word` draws 32 bits. */
export function installRealmRandom({ isContext, Script }: VmModule, word: () => number): void {
  const known = new WeakSet<object>()
  const shared = new Uint32Array(5)
  const { runInContext } = Script.prototype as VmScript
  let script: VmScript | undefined
  const seed = () => {
    for (let at = 1; at < shared.length; at++) shared[at] = word()
    shared[0]++
  }
  const enter = (context: object) => {
    if (known.has(context) || !isContext(context)) return
    known.add(context)
    // A sandbox may bring an object of this realm in place of its own.
    if ((context as { Math?: unknown }).Math instanceof Object) return
    if (script === undefined) {
      script = new Script(SOURCE, { filename: 'random' })
      seed()
    }
    const install = runInContext.call(script, context) as Install
    install(word(), shared)
  }
  Object.defineProperty(Script.prototype, 'runInContext', {
    value: {
      runInContext(this: VmScript, context: object, options?: unknown): unknown {
        if (typeof context === 'object' && context !== null) enter(context)
        return runInContext.call(this, context, options)
      },
    }.runInContext,
    writable: true,
    configurable: true,
  })
  // Who never runs one pays nothing.
  onSeed(() => {
    if (script !== undefined) seed()
  })
}
