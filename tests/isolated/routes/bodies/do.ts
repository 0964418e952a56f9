/** Requests whose bodies come piece by piece. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  warmup: [{ path: '/do?what=sum', method: 'POST', body: 'some' }],
  timeoutMs: 1500,
  memoryMb: 48,
  limits: { streamMs: 6000, streamIdleMs: 2500 },
}

type Bytes = Uint8Array<ArrayBuffer>

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

export function POST(ctx: Context): Response | Promise<Response> {
  const request = ctx.get.request() as Request
  return MADE[ctx.get.query('what') ?? 'sum']!(ctx, request)
}

const MADE: Record<string, (ctx: Context, request: Request) => Response | Promise<Response>> = {
  /** How many bytes, of which sum. */
  async sum(ctx, { body }) {
    let [bytes, sum] = [0, 0]
    for await (const chunk of body!) {
      bytes += chunk.length
      for (let at = 0; at < chunk.length; at += 997) sum = (sum + chunk[at]!) % 65_521
    }
    return ctx.send.text(`${bytes} ${sum}`)
  },
  /** As `sum`, into a buffer of its own. */
  async byob(ctx, { body }) {
    const reader = body!.getReader({ mode: 'byob' })
    let [bytes, sum, buffer] = [0, 0, new Uint8Array(1000)]
    for (;;) {
      const { value, done } = await reader.read(buffer)
      if (done) return ctx.send.text(`${bytes} ${sum} ${value!.buffer.byteLength}`)
      for (const byte of value) sum = (sum + byte) % 65_521
      bytes += value.length
      buffer = new Uint8Array(value.buffer)
    }
  },
  text: async (ctx, request) => ctx.send.text(`${(await request.text()).length}`),
  bytes: async (ctx) => ctx.send.text(`${(await ctx.get.bytes()).length}`),
  json: async (ctx) => ctx.send.json(Object.keys(await ctx.get.json() as object).length),
  clone: async (ctx, request) => {
    const other = request.clone()
    const [one, two] = await Promise.all([request.text(), other.text()])
    return ctx.send.text(`${one === two} ${request.bodyUsed} ${one.length}`)
  },
  again: async (ctx) => {
    const [one, two] = [await ctx.get.text(), await ctx.get.bytes()]
    return ctx.send.text(`${one.length} ${two.length}`)
  },
  unread: (ctx) => ctx.send.text('unread'),
  async first(ctx, { body }) {
    const { value } = await body!.getReader().read()
    return ctx.send.text(`first ${value!.length > 0}`)
  },
  async cancels(ctx, { body }) {
    const reader = body!.getReader()
    for (let chunks = 0; chunks < 6; chunks++) await reader.read()
    await reader.cancel()
    return ctx.send.text('cancelled')
  },
  echo: (_, { body }) => new Response(body),
  shout: (_, { body }) =>
    new Response(ReadableStream.from(async function* () {
      for await (const chunk of body! as ReadableStream<Bytes>) yield chunk.map((byte) => byte & 0xdf)
    }())),
  async never(_, { body }) {
    const reader = body!.getReader()
    for (let chunks = 0; chunks < 3; chunks++) await reader.read()
    await pause(60_000)
    return new Response('late')
  },
  async spins(_, { body }) {
    const reader = body!.getReader()
    for (let chunks = 0; chunks < 3; chunks++) await reader.read()
    for (;;);
  },
  async caught(ctx, request) {
    try {
      await request.text()
      return ctx.send.text('all of it')
    } catch (error) {
      console.log(`caught ${(error as Error).message}`)
      return ctx.send.text(`caught ${(error as Error).message}`)
    }
  },
  async ignores(_, request) {
    await request.text().catch(() => {})
    for (;;);
  },
}
