import type { Context } from '@mayfly/mayfly'
import forge from 'node-forge'

export const inputs = [
  { text: 'eine Nachricht für alle' },
  { text: 'x'.repeat(4000) },
]

export async function POST(ctx: Context) {
  const text = await ctx.get.text()
  const digest = forge.md.sha256.create().update(text, 'utf8')
  const cipher = forge.cipher.createCipher('AES-CBC', '0123456789abcdef')
  cipher.start({ iv: '0123456789abcdef' })
  cipher.update(forge.util.createBuffer(text, 'utf8'))
  cipher.finish()
  return ctx.send.json({
    digest: digest.digest().toHex(),
    sealed: forge.util.encode64(cipher.output.getBytes()),
    key: forge.util.bytesToHex(forge.pkcs5.pbkdf2('password', 'salt', 20, 16)),
  })
}
