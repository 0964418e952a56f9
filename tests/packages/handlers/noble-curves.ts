import type { Context } from '@mayfly/mayfly'
import { ed25519 } from '@noble/curves/ed25519.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex } from '@noble/hashes/utils.js'

export const inputs = [
  { text: 'a message' },
  { text: 'eine Nachricht für Jörg' },
]

const SECRET = new Uint8Array(32).fill(7)

export async function POST(ctx: Context) {
  const message = await ctx.get.bytes()
  const signed = ed25519.sign(message, SECRET)
  const other = secp256k1.sign(message, SECRET)
  return ctx.send.json({
    ed25519: bytesToHex(signed),
    valid: ed25519.verify(signed, message, ed25519.getPublicKey(SECRET)),
    secp256k1: bytesToHex(other),
    verified: secp256k1.verify(other, message, secp256k1.getPublicKey(SECRET)),
  })
}
