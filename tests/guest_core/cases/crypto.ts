import { type Cases, caught, type Web } from './case.ts'

const HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']
/** Shorter than a block, as long, longer, and of one byte. */
const LENGTHS = [1, 20, 64, 65, 128, 129, 200]

function bytes(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => i * 7 + 1)
}

function importRaw(
  web: Web,
  key: Uint8Array<ArrayBuffer>,
  hash: string,
  more: object = {},
): Promise<CryptoKey> {
  return web.crypto.subtle.importKey('raw', key, { name: 'HMAC', hash, ...more }, true, ['sign', 'verify'])
}

async function sign(web: Web, length: number, hash: string): Promise<string> {
  const key = await importRaw(web, bytes(length), hash)
  const signature = await web.crypto.subtle.sign('HMAC', key, bytes(length * 3))
  return new Uint8Array(signature).toHex()
}

/** What comes of a call that no type allows. */
function tried(
  web: Web,
  run: (subtle: Record<string, (...args: unknown[]) => Promise<unknown>>) => unknown,
): unknown {
  return caught(web, () => run(web.crypto.subtle as never))
}

async function generate({ crypto }: Web, hash: string): Promise<CryptoKey> {
  return await crypto.subtle.generateKey({ name: 'HMAC', hash }, true, ['sign']) as CryptoKey
}

const HS256 = { name: 'HMAC', hash: 'SHA-256' }

export const CRYPTO: Cases = {
  'HMAC: signatures of every digest and length of key': (web) =>
    Promise.all(HASHES.flatMap((hash) => LENGTHS.map((length) => sign(web, length, hash)))),
  'HMAC: empty data': async (web) => {
    const key = await importRaw(web, bytes(16), 'SHA-256')
    return new Uint8Array(await web.crypto.subtle.sign({ name: 'hmac' }, key, new ArrayBuffer(0))).toHex()
  },
  'HMAC: verify': async (web) => {
    const key = await importRaw(web, bytes(32), 'SHA-512')
    const signature = new Uint8Array(await web.crypto.subtle.sign('HMAC', key, bytes(9)))
    const other = signature.slice()
    other[63] ^= 1
    const verify = (signature: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>) =>
      web.crypto.subtle.verify('HMAC', key, signature, data)
    return Promise.all([
      verify(signature, bytes(9)),
      verify(signature, bytes(10)),
      verify(other, bytes(9)),
      verify(signature.subarray(1), bytes(9)),
      verify(new Uint8Array(0), bytes(9)),
    ])
  },
  'HMAC: a key of its own': async (web) => {
    const key = await importRaw(web, bytes(40), 'SHA-384')
    return [
      key.type,
      key.extractable,
      key.algorithm,
      key.usages,
      Object.prototype.toString.call(key),
      key instanceof web.CryptoKey,
    ]
  },
  'HMAC: the key keeps its own bytes': async (web) => {
    const given = bytes(32)
    const key = await importRaw(web, given, 'SHA-256')
    given.fill(0)
    return new Uint8Array(await web.crypto.subtle.exportKey('raw', key))
  },
  'HMAC: export and import of a JWK': async (web) => {
    const { subtle } = web.crypto
    const all = await Promise.all(HASHES.map(async (hash) => {
      const key = await importRaw(web, bytes(63), hash)
      const jwk = await subtle.exportKey('jwk', key)
      const again = await subtle.importKey('jwk', jwk, { name: 'HMAC', hash }, true, ['sign'])
      return [jwk, again.usages, new Uint8Array(await subtle.sign('HMAC', again, bytes(5))).toHex()]
    }))
    return all
  },
  'HMAC: generated keys': async (web) => {
    const { subtle } = web.crypto
    const lengths = await Promise.all(HASHES.map(async (hash) => {
      const key = await generate(web, hash)
      return [(key.algorithm as HmacKeyAlgorithm).length, (await subtle.exportKey('raw', key)).byteLength]
    }))
    const [one, two] = await Promise.all([1, 2].map(async () => {
      const key = await generate(web, 'SHA-256')
      return new Uint8Array(await subtle.exportKey('raw', key)).toHex()
    }))
    return [lengths, one === two]
  },
  'HMAC: what is refused': (web) =>
    Promise.all([
      tried(web, (subtle) => subtle.importKey('raw', bytes(0), HS256, true, ['sign'])),
      tried(web, (subtle) => subtle.importKey('raw', bytes(4), HS256, true, [])),
      tried(web, (subtle) => subtle.importKey('raw', bytes(4), HS256, true, ['encrypt'])),
      tried(web, (subtle) => subtle.importKey('raw', bytes(4), { ...HS256, length: 33 }, true, ['sign'])),
      tried(web, (subtle) => subtle.importKey('raw', bytes(4), { ...HS256, length: 24 }, true, ['sign'])),
      tried(web, (subtle) => subtle.importKey('jwk', { kty: 'RSA' }, HS256, true, ['sign'])),
      tried(
        web,
        (subtle) => subtle.importKey('jwk', { kty: 'oct', k: 'AQ', alg: 'HS512' }, HS256, true, ['sign']),
      ),
      tried(
        web,
        (subtle) => subtle.importKey('jwk', { kty: 'oct', k: 'AQ', use: 'enc' }, HS256, true, ['sign']),
      ),
      tried(
        web,
        (subtle) => subtle.importKey('jwk', { kty: 'oct', k: 'AQ', ext: false }, HS256, true, ['sign']),
      ),
      tried(
        web,
        (subtle) =>
          subtle.importKey('jwk', { kty: 'oct', k: 'AQ', key_ops: ['verify'] }, HS256, true, ['sign']),
      ),
      tried(web, (subtle) => subtle.importKey('raw')),
      tried(web, (subtle) => subtle.sign('HMAC', {}, bytes(1))),
    ]),
  'HMAC: a key does what it is for': async (web) => {
    const { subtle } = web.crypto
    const key = await subtle.importKey('raw', bytes(4), HS256, false, ['verify'])
    return Promise.all([
      tried(web, (subtle) => subtle.sign('HMAC', key, bytes(1))),
      tried(web, (subtle) => subtle.exportKey('raw', key)),
    ])
  },
  'CryptoKey: nobody constructs one': (web) =>
    caught(web, () => new (web.CryptoKey as unknown as new () => unknown)()),
}
