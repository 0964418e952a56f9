import type { Context } from '@mayfly/mayfly'
import nacl from 'tweetnacl'

export const inputs = [
  { text: 'a message' },
  { text: 'Grüße aus Köln '.repeat(100) },
]

const NONCE = new Uint8Array(24).fill(1)
const PAIR = nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(9))

export async function POST(ctx: Context) {
  const message = await ctx.get.bytes()
  const boxed = nacl.secretbox(message, NONCE, new Uint8Array(32).fill(5))
  const signature = nacl.sign.detached(message, PAIR.secretKey)
  return ctx.send.json({
    hash: nacl.hash(message).toHex(),
    boxed: boxed.slice(0, 48).toHex(),
    signature: signature.toHex(),
    valid: nacl.sign.detached.verify(message, signature, PAIR.publicKey),
  })
}
