import type { Context } from '@mayfly/mayfly'
import { argon2id, crc32, md5, xxhash64 } from 'hash-wasm'

export const inputs = [
  { text: 'grüße' },
  { text: 'x'.repeat(50_000) },
]

export async function POST(ctx: Context) {
  const bytes = await ctx.get.bytes()
  return ctx.send.json({
    md5: await md5(bytes),
    crc32: await crc32(bytes),
    xxhash: await xxhash64(bytes),
    argon2: await argon2id({
      password: bytes.subarray(0, 32),
      salt: new Uint8Array(16),
      parallelism: 1,
      iterations: 2,
      memorySize: 64,
      hashLength: 16,
    }),
  })
}
