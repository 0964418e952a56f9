/** A socket whose client takes nothing. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { warmup: 0, limits: { streamBytes: 100_000_000 } }

export function GET(ctx: Context): Response {
  const Pair = (globalThis as unknown as { WebSocketPair: new () => Record<0 | 1, WebSocket> }).WebSocketPair
  const { 0: client, 1: socket } = new Pair()
  socket.onopen = () => {
    const message = 'x'.repeat(60_000)
    for (let i = 0; i < 500; i++) socket.send(message)
    setTimeout(() => socket.dispatchEvent(new Event('look')), 500)
  }
  socket.addEventListener('look', () => {
    throw new RangeError(`${socket.bufferedAmount} bytes wait`)
  })
  ctx.set.status(200)
  return new Response(null, { status: 101, webSocket: client } as ResponseInit)
}
