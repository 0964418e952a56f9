/** Pages of one other origin may connect. */
export const isolated = { allowedOrigins: ['https://friend.example'], warmup: 0 }

interface Pair {
  readonly 0: WebSocket
  readonly 1: WebSocket & { accept(): void }
}

export function GET(): Response {
  const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => Pair }
  const { 0: client, 1: server } = new WebSocketPair()
  server.accept()
  server.onmessage = ({ data }) => server.send(data)
  return new Response(null, { status: 101, webSocket: client } as ResponseInit)
}
