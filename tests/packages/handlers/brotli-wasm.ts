import type { Context } from '@mayfly/mayfly'
import loading from 'brotli-wasm'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?quality=1' },
  { path: '?quality=11' },
]

const brotli = await loading

/** Its WebAssembly is a file of the package. A quality that is no number makes it panic, and from then on it is of no use. */
export function GET(ctx: Context) {
  const bytes = new TextEncoder().encode(PARAGRAPHS.join('\n'))
  const quality = Number(ctx.get.query('quality'))
  const packed = brotli.compress(bytes, { quality })
  const text = new TextDecoder().decode(brotli.decompress(packed))
  return ctx.send.json({ bytes: bytes.length, packed: packed.length, same: text === PARAGRAPHS.join('\n') })
}
