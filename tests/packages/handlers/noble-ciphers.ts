import type { Context } from '@mayfly/mayfly'
import { gcm } from '@noble/ciphers/aes.js'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { bytesToHex } from '@noble/ciphers/utils.js'

export const inputs = [
  { text: 'geheim: größe' },
  { text: 'x'.repeat(16_000) },
  { base64: '//79/Pv6' },
]

const KEY = new Uint8Array(32).fill(3)

export async function POST(ctx: Context) {
  const plain = await ctx.get.bytes()
  const one = gcm(KEY, new Uint8Array(12)).encrypt(plain)
  const two = xchacha20poly1305(KEY, new Uint8Array(24)).encrypt(plain)
  const back = gcm(KEY, new Uint8Array(12)).decrypt(one)
  return ctx.send.json({
    gcm: bytesToHex(one.slice(-32)),
    chacha: bytesToHex(two.slice(-32)),
    same: back.length === plain.length,
  })
}
