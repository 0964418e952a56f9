/** Bodies as their server meant them: without the compression that they travelled in. */
import type { Transform } from 'node:stream'

/** Codings that are asked for, and read. */
export const ACCEPT_ENCODING = 'gzip, deflate, br'
/** Codings one over the other; a server has no reason for more. */
const MOST = 2

/** What takes a coding away, of `node:zlib`, which is loaded with the first body that has one. */
const CODINGS = {
  gzip: 'createUnzip',
  'x-gzip': 'createUnzip',
  deflate: 'createInflate',
  br: 'createBrotliDecompress',
} as const
type Coding = keyof typeof CODINGS

/** The codings of a `content-encoding`, innermost first; null for some that cannot be read. */
export function toCodings(header: string): readonly Coding[] | null {
  const names = header.toLowerCase().split(',').map((name) => name.trim()).filter((name) =>
    name !== '' && name !== 'identity'
  )
  return names.length <= MOST && names.every(isCoding) ? names : null
}

/** Takes the codings away, piece by piece: what is not asked for is not decompressed. Throws what zlib does for bytes that are none. */
export function decode(
  body: AsyncIterable<Uint8Array>,
  codings: readonly Coding[],
): AsyncIterable<Uint8Array> {
  return codings.reduceRight<AsyncIterable<Uint8Array>>(inflate, body)
}

function isCoding(name: string): name is Coding {
  return Object.hasOwn(CODINGS, name)
}

async function* inflate(chunks: AsyncIterable<Uint8Array>, coding: Coding): AsyncGenerator<Uint8Array> {
  const zlib = await import('node:zlib')
  const stream: Transform = zlib[CODINGS[coding]]()
  const fed = feed(chunks, stream)
  try {
    for await (const chunk of stream) yield chunk as Uint8Array
    await fed
  } finally {
    stream.destroy()
    await fed.catch(() => {})
  }
}

async function feed(chunks: AsyncIterable<Uint8Array>, stream: Transform): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (stream.destroyed) return
      if (stream.write(chunk)) continue
      await new Promise<void>((go) => {
        stream.once('drain', go)
        stream.once('close', go)
      })
    }
    stream.end()
  } catch (error) {
    stream.destroy(error as Error)
  }
}
