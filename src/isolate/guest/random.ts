/**
 * Randomness in a guest. The snapshot freezes every generator's state, so after each reset it would repeat. Each request
 * brings 32 bytes of entropy; `Math.random`, `crypto.getRandomValues` and `crypto.randomUUID` draw from them by
 * ChaCha20 (RFC 8439): as the key is used for one request only, it needs no nonce. The key is expanded when the first number
 * is asked for.
 *
 * What is drawn inside Deno (WebCrypto's keys, `node:crypto`) asks the kernel, or Deno's own generator, which asks the
 * kernel anew every 64 KiB: before the snapshot the host lets {@link drawNatively} advance it to where its very next number
 * must be made anew.
 */
import { SEED_DIGITS } from './http/head.ts'

const WORDS = 16
/** Bytes that one call of `getRandomValues` may ask for, by the specification. */
const QUOTA = 65_536

const state = new Uint32Array(WORDS)
const block = new Uint32Array(WORDS)
const blockBytes = new Uint8Array(block.buffer)
/** Bytes of `block` that are used up. */
let used = WORDS * 4
/** A text that ends with the seed not yet expanded, else ''. */
let pendingSeed = ''

const native = {
  values: Crypto.prototype.getRandomValues,
  random: Math.random,
}
let seeded = false

/** Called with each new sequence. */
let listener: (() => void) | undefined

/** Starts a request's sequence; the text ends with 64 hex digits. */
export function seed(text: string): void {
  pendingSeed = text
  used = WORDS * 4
  seeded = true
  listener?.()
}

/** Calls back at the start of each sequence, when the first number can be drawn. */
export function onSeed(callback: () => void): void {
  listener = callback
}

/** Replaces the sources of randomness; before the first {@link seed} they answer as Deno's own. */
export function installRandom(): void {
  define(Math, 'random', { random: () => random() }.random)
  define(
    Crypto.prototype,
    'getRandomValues',
    {
      getRandomValues<T extends ArrayBufferView>(this: Crypto, target: T): T {
        if (!seeded || !isIntegerArray(target) || target.byteLength > QUOTA) {
          return native.values.call(this, target as never) as ArrayBufferView as T
        }
        fill(new Uint8Array(target.buffer, target.byteOffset, target.byteLength))
        return target
      },
    }.getRandomValues,
  )
  define(Crypto.prototype, 'randomUUID', { randomUUID: () => randomUUID() }.randomUUID)
}

/** Draws 32-bit numbers from Deno's own generator. */
export function drawNatively(count: number): void {
  const word = new Uint32Array(1)
  for (let i = 0; i < count; i++) native.values.call(crypto, word)
}

/** A number of 32 bits. */
export function randomWord(): number {
  return random() * 4_294_967_296 >>> 0
}

function random(): number {
  if (!seeded) return native.random()
  let at = (used + 3) >>> 2
  if (at > WORDS - 2) {
    nextBlock()
    at = 0
  }
  used = (at + 2) * 4
  // 53 bits, as V8 gives.
  return ((block[at] >>> 5) * 67_108_864 + (block[at + 1] >>> 6)) / 9_007_199_254_740_992
}

function randomUUID(): string {
  const bytes = new Uint8Array(16)
  if (seeded) fill(bytes)
  else native.values.call(crypto, bytes)
  bytes[6] = bytes[6] & 0x0f | 0x40
  bytes[8] = bytes[8] & 0x3f | 0x80
  let text = ''
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-'
    text += HEX[bytes[i] >>> 4] + HEX[bytes[i] & 15]
  }
  return text
}

const HEX = '0123456789abcdef'

function fill(target: Uint8Array): void {
  for (let done = 0; done < target.length;) {
    if (used === WORDS * 4) nextBlock()
    const count = Math.min(WORDS * 4 - used, target.length - done)
    target.set(blockBytes.subarray(used, used + count), done)
    // What was handed out is not kept.
    blockBytes.fill(0, used, used + count)
    used += count
    done += count
  }
}

function nextBlock(): void {
  if (pendingSeed !== '') expand()
  chachaBlock(state, block)
  if (++state[12] === 0) state[13]++
  used = 0
}

function expand(): void {
  const hex = pendingSeed.slice(-SEED_DIGITS)
  for (let i = 0; i < 8; i++) state[4 + i] = parseInt(hex.slice(i * 8, i * 8 + 8), 16)
  setUp(state)
  pendingSeed = ''
}

/** Sets constants, counter and nonce of a ChaCha state beside its key, words 4 to 11. */
export function setUp(state: Uint32Array): void {
  // "expand 32-byte k"
  state[0] = 0x61707865
  state[1] = 0x3320646e
  state[2] = 0x79622d32
  state[3] = 0x6b206574
  state.fill(0, 12)
}

/** One block of ChaCha20, RFC 8439 section 2.3. */
export function chachaBlock(state: Uint32Array, out: Uint32Array): void {
  out.set(state)
  for (let round = 0; round < 10; round++) {
    quarter(out, 0, 4, 8, 12)
    quarter(out, 1, 5, 9, 13)
    quarter(out, 2, 6, 10, 14)
    quarter(out, 3, 7, 11, 15)
    quarter(out, 0, 5, 10, 15)
    quarter(out, 1, 6, 11, 12)
    quarter(out, 2, 7, 8, 13)
    quarter(out, 3, 4, 9, 14)
  }
  for (let i = 0; i < WORDS; i++) out[i] += state[i]
}

function quarter(x: Uint32Array, a: number, b: number, c: number, d: number): void {
  x[a] += x[b]
  x[d] = rotate(x[d] ^ x[a], 16)
  x[c] += x[d]
  x[b] = rotate(x[b] ^ x[c], 12)
  x[a] += x[b]
  x[d] = rotate(x[d] ^ x[a], 8)
  x[c] += x[d]
  x[b] = rotate(x[b] ^ x[c], 7)
}

function rotate(value: number, bits: number): number {
  return value << bits | value >>> (32 - bits)
}

const INTEGER_ARRAYS: ReadonlySet<string> = new Set([
  ...[
    'Int8Array',
    'Uint8Array',
    'Uint8ClampedArray',
    'Int16Array',
    'Uint16Array',
    'Int32Array',
    'Uint32Array',
  ],
  ...['BigInt64Array', 'BigUint64Array'],
])
const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!

function isIntegerArray(value: unknown): value is Uint8Array {
  return INTEGER_ARRAYS.has(tagOf.call(value))
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    writable: true,
    enumerable: name !== 'random',
    configurable: true,
  })
}
