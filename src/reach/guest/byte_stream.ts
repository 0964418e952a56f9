/** Bodies that the host has, as streams. This side runs inside, in every runtime. */

type Piece = Uint8Array<ArrayBuffer>

/** `bytes` in a runtime that has streams of bytes; `core` has none. */
const TYPE = findType()

/**
 * A stream of what `take` gives, to its null. Where the runtime has streams of bytes, a reader may bring its own buffer
 * (`getReader({ mode: 'byob' })`), as with the bodies of `Deno.serve` and `fetch`.
 */
export function toByteStream(take: () => Promise<Piece | null>, cancel: () => void): ReadableStream<Piece> {
  const source: UnderlyingByteSource = {
    type: TYPE as 'bytes',
    async pull(controller) {
      const piece = await take()
      if (piece !== null) return controller.enqueue(toOwned(piece))
      controller.close()
      // A reader that has brought a buffer gets it back.
      controller.byobRequest?.respond(0)
    },
    cancel,
  }
  return new ReadableStream(source, { highWaterMark: 0 }) as ReadableStream<Piece>
}

/** A stream of bytes takes the whole buffer of a piece away, which must then be nobody else's. */
function toOwned(piece: Piece): Piece {
  return TYPE === undefined || piece.length === piece.buffer.byteLength ? piece : piece.slice()
}

function findType(): 'bytes' | undefined {
  try {
    new ReadableStream({ type: 'bytes' })
    return 'bytes'
  } catch {
    return undefined
  }
}
