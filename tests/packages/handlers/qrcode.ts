import type { Context } from '@mayfly/mayfly'
import QRCode from 'qrcode'

export const inputs = [
  { path: '?text=https://example.com/a?b=c' },
  { path: '?text=gr%C3%BC%C3%9Fe%20%F0%9F%90%9D&level=H' },
]

export async function GET(ctx: Context) {
  const errorCorrectionLevel = ctx.get.query('level') ?? 'M'
  const svg = await QRCode.toString(
    ctx.get.query('text') ?? '',
    { type: 'svg', errorCorrectionLevel } as never,
  )
  return ctx.send.custom(svg, { headers: { 'content-type': 'image/svg+xml' } })
}
