import type { Context } from '@mayfly/mayfly'
import loading from 'brotli-wasm'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?quality=1' },
  { path: '?quality=11' },
]

const brotli = await loading

/** Its WebAssembly is a file of the package. */
export function GET(ctx: Context) {
  const bytes = new TextEncoder().encode(PARAGRAPHS.join('\n'))
  // What is no number makes it panic, and a module of WebAssembly that panicked is of no use any more.
  const quality = ctx.get.query('quality') === '11' ? 11 : 1
  const packed = brotli.compress(bytes, { quality })
  const text = new TextDecoder().decode(brotli.decompress(packed))
  return ctx.send.json({ bytes: bytes.length, packed: packed.length, same: text === PARAGRAPHS.join('\n') })
}
