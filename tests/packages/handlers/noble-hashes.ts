import type { Context } from '@mayfly/mayfly'
import { blake3 } from '@noble/hashes/blake3.js'
import { hmac } from '@noble/hashes/hmac.js'
import { pbkdf2 } from '@noble/hashes/pbkdf2.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex } from '@noble/hashes/utils.js'

export const inputs = [
  { text: 'grüße' },
  { base64: 'AAECAwQFBgcICf/+/fz7+g==' },
  { text: 'x'.repeat(20_000) },
]

export async function POST(ctx: Context) {
  const bytes = await ctx.get.bytes()
  return ctx.send.json({
    sha256: bytesToHex(sha256(bytes)),
    sha512: bytesToHex(sha512(bytes)),
    keccak: bytesToHex(keccak_256(bytes)),
    blake3: bytesToHex(blake3(bytes)),
    hmac: bytesToHex(hmac(sha256, new Uint8Array(32), bytes)),
    key: bytesToHex(
      pbkdf2(sha256, bytes.subarray(0, 16), 'salt', { c: 50, dkLen: 32 }),
    ),
  })
}
