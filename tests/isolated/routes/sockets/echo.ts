/** WebSockets in a machine. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  warmup: 0,
  timeoutMs: 5000,
  limits: { streamMs: 20000, streamIdleMs: 8000, streamBytes: 3000000 },
}

/** Workers' class, and Deno's function where it is there. */
interface World {
  readonly Deno?: {
    upgradeWebSocket?(request: Request, options?: { protocol?: string }): {
      socket: WebSocket
      response: Response
    }
    exit(code: number): never
  }
  readonly WebSocketPair: new () => Record<0 | 1, WebSocket & { accept(): void }>
}
const world = globalThis as unknown as World
let requests = 0

export function GET(ctx: Context): Response {
  requests++
  const request = ctx.get.request()
  if (request.headers.get('upgrade') !== 'websocket') return ctx.send.text(`request ${requests}`)
  const what = ctx.get.query('what') ?? 'echo'
  if (what === 'throws-before') throw new RangeError('no socket')
  const { socket, response } = upgrade(ctx, request)
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => socket.send(`hello ${requests}`)
  socket.addEventListener('message', ({ data }: MessageEvent) => {
    const answer = ANSWERS[data]
    if (answer !== undefined) return answer(socket)
    socket.send(typeof data === 'string' ? `echo ${data}` : data)
  })
  ctx.set.header('x-own', 'never')
  return response
}

function upgrade(ctx: Context, request: Request): { socket: WebSocket; response: Response } {
  if (world.Deno?.upgradeWebSocket !== undefined && ctx.get.query('by') !== 'pair') {
    const protocol = ctx.get.query('protocol')
    return world.Deno.upgradeWebSocket(request, protocol === undefined ? {} : { protocol })
  }
  const [client, socket] = Object.values(new world.WebSocketPair()) as [
    WebSocket,
    WebSocket & { accept(): void },
  ]
  socket.accept()
  if (ctx.get.query('early') === 'yes') socket.send('early')
  return { socket, response: new Response(null, { status: 101, webSocket: client } as ResponseInit) }
}

const ANSWERS: Record<string, (socket: WebSocket) => unknown> = {
  close: (socket) => socket.close(3001, 'as asked'),
  'close 1008': (socket) => socket.close(1008, 'policy'),
  exit: () => world.Deno!.exit(3),
  throw: () => {
    throw new RangeError('a listener broke')
  },
  reject: () => Promise.reject(new RangeError('a listener rejected')),
  spin: () => {
    while (true);
  },
  later: (socket) => void setTimeout(() => socket.send('later'), 50),
  large: (socket) => {
    try {
      socket.send('x'.repeat((1 << 20) + 1))
    } catch (error) {
      socket.send(String(error))
    }
  },
  flood: (socket) => {
    for (let i = 0; i < 40; i++) socket.send('x'.repeat(60000))
    socket.send('done')
    socket.send(`buffered ${socket.bufferedAmount > 1_000_000}`)
  },
  endless: (socket) => {
    for (let i = 0; i < 100; i++) socket.send('x'.repeat(60000))
  },
}
