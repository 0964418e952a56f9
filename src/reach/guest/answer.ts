/** A response whose body leaves its machine piece by piece. This side runs inside, in every runtime. */
import { copyPiece, Credit } from '../calls/pieces.ts'
import { PIECE } from '../calls/protocol.ts'
import type { Exchanges } from './exchanges.ts'

/** What a body is read by. */
export type PieceReader = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>

/** How a stream ended: all of it was sent, the client has gone, or nobody hears this request (a warm-up). */
export type StreamEnd = 'sent' | 'cancelled' | 'closed'

/**
 * Milliseconds of its clock for which a warm-up waits until its body has ended. That costs no real time, and a body that a snapshot keeps
 * waiting would go on in every request.
 */
const LEFTOVER_MS = 60_000
/** The runtime's own: a timer of the guest is none of the program. */
const { setTimeout, clearTimeout } = globalThis

/**
 * Sends the head of an answer, as JSON, and then what `reader` gives, never more ahead of the client than a window. Rejects with what the
 * body throws; the host learns of that by the request's own answer.
 */
export async function sendAnswer(
  exchanges: Exchanges,
  head: Uint8Array<ArrayBuffer>,
  first: readonly Uint8Array[],
  reader: PieceReader,
): Promise<StreamEnd> {
  const id = await exchanges.start()
  const credit = new Credit()
  const over = Promise.withResolvers<StreamEnd>()
  exchanges.send(id, ['answer'], head, (told) => {
    if (told[0] === 'more') {
      credit.add(told[1])
      return false
    }
    over.resolve(told[0] === 'cancel' ? 'cancelled' : 'closed')
    return true
  })
  const send = async (chunk: Uint8Array): Promise<void> => {
    for (let at = 0; at < chunk.length && exchanges.has(id); at += PIECE) {
      const piece = copyPiece(chunk, at)
      await credit.take(piece.length)
      if (exchanges.has(id)) exchanges.send(id, ['piece'], piece)
    }
  }
  const sendAll = async (): Promise<StreamEnd> => {
    for (const chunk of first) await send(chunk)
    for (;;) {
      const { value, done } = await reader.read()
      if (done || !exchanges.has(id)) break
      await send(checkChunk(value))
    }
    if (exchanges.has(id)) exchanges.send(id, ['end'])
    return 'sent'
  }
  try {
    const end = await Promise.race([sendAll(), over.promise])
    if (end === 'sent') return end
    const cancelled = reader.cancel(new DOMException('The client has gone', 'AbortError'))
    // The host bounds the wait of a request. What a body asks of it at its end fails in a warm-up.
    await (end === 'cancelled' ? cancelled : settled(cancelled, LEFTOVER_MS))
    return end
  } finally {
    exchanges.finish(id)
  }
}

/** Resolves when `promise` is settled, or after `ms`. */
async function settled(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms))
  await Promise.race([promise.then(() => {}, () => {}), late])
  clearTimeout(timer)
}

/** What a body gives. Throws `TypeError` for what is no piece of one. */
export function checkChunk(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk
  const what = chunk === null ? 'null' : typeof chunk
  throw new TypeError(`Cannot send a response: its body gave ${what}, want a Uint8Array`)
}
