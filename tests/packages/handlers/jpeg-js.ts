import type { Context } from '@mayfly/mayfly'
import { decode, encode } from 'jpeg-js'

export const inputs = [
  { path: '?width=64&height=48&quality=70' },
  { path: '?width=16&height=8&quality=95' },
]

export function GET(ctx: Context) {
  const [width, height, quality] = ['width', 'height', 'quality'].map((name) => Number(ctx.get.query(name)))
  const data = new Uint8Array(width * height * 4).map((_, at) => at % 4 === 3 ? 255 : (at * 3) % 256)
  const jpeg = encode({ data, width, height }, quality)
  const back = decode(jpeg.data, { useTArray: true })
  return ctx.send.custom(Uint8Array.from(jpeg.data), {
    headers: { 'content-type': 'image/jpeg', 'x-size': `${back.width}x${back.height}` },
  })
}
