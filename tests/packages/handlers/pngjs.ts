import type { Context } from '@mayfly/mayfly'
import { Buffer } from 'node:buffer'
import { PNG } from 'pngjs'

export const inputs = [
  { path: '?width=64&height=48&colour=200' },
  { path: '?width=3&height=3&colour=7' },
  {
    base64:
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
]

/** Draws a picture. */
export function GET(ctx: Context) {
  const [width, height, colour] = ['width', 'height', 'colour'].map((name) => Number(ctx.get.query(name)))
  const png = new PNG({ width, height })
  for (let at = 0; at < png.data.length; at += 4) png.data.set([colour, at % 256, (at >> 8) % 256, 255], at)
  const bytes = PNG.sync.write(png, { deflateLevel: 9 })
  return ctx.send.custom(Uint8Array.from(bytes), { headers: { 'content-type': 'image/png' } })
}

/** Reads one. */
export async function POST(ctx: Context) {
  const { width, height, data } = PNG.sync.read(Buffer.from(await ctx.get.bytes()))
  return ctx.send.json({ width, height, first: [...data.subarray(0, 4)] })
}
