import type { Context } from '@mayfly/mayfly'
import CryptoJS from 'crypto-js'

export const inputs = [
  { text: 'geheime Größe' },
  { text: 'x'.repeat(3000) },
]

const KEY = CryptoJS.enc.Hex.parse('00112233445566778899aabbccddeeff')

export async function POST(ctx: Context) {
  const text = await ctx.get.text()
  const sealed = CryptoJS.AES.encrypt(text, KEY, { iv: KEY }).toString()
  return ctx.send.json({
    sealed,
    same: CryptoJS.AES.decrypt(sealed, KEY, { iv: KEY }).toString(CryptoJS.enc.Utf8) === text,
    md5: CryptoJS.MD5(text).toString(),
    sha3: CryptoJS.SHA3(text).toString(),
    hmac: CryptoJS.HmacSHA256(text, 'key').toString(CryptoJS.enc.Base64),
  })
}
