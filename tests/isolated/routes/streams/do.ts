/** Responses whose bodies come piece by piece. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  warmup: [{ path: '/do?what=ahead&n=9&ms=700' }, { path: '/do?what=pieces&n=3' }, {
    path: '/do?what=ticks&n=2&ms=1',
  }, { path: '/do?what=plain' }],
  timeoutMs: 2000,
  outputBytes: 1000000,
  limits: { streamMs: 8000, streamIdleMs: 2000, streamBytes: 4000000 },
}

const encoder = new TextEncoder()
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
let requests = 0
let pulling = 0

export function GET(ctx: Context): Response | Promise<Response> {
  const what = ctx.get.query('what') ?? 'plain'
  const n = Number(ctx.get.query('n') ?? 3)
  const ms = Number(ctx.get.query('ms') ?? 5)
  requests++
  return MADE[what]!(ctx, n, ms)
}

const MADE: Record<string, (ctx: Context, n: number, ms: number) => Response | Promise<Response>> = {
  plain: (ctx) => ctx.send.text('plain'),
  count: (ctx) => ctx.send.text(`${requests}`),
  /** Complete at once. */
  pieces: (_, n) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let i = 0; i < n; i++) controller.enqueue(encoder.encode(`${i};`))
          controller.close()
        },
      }),
      { status: 203, headers: { 'content-type': 'text/plain', 'x-own': 'yes' } },
    ),
  /** One piece for each turn of a timer. */
  ticks: (_, n, ms) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await pause(ms)
          controller.enqueue(encoder.encode(`tick ${n};`))
          if (--n <= 0) controller.close()
        },
      }),
    ),
  /** Asks for the next piece ahead of who reads, and takes its time. */
  ahead: (_, n, ms) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          pulling++
          await pause(ms)
          pulling--
          controller.enqueue(encoder.encode(`${n};`))
          if (--n <= 0) controller.close()
        },
      }, { highWaterMark: 3 }),
    ),
  pulling: (ctx) => ctx.send.text(`${pulling}`),
  sse: (ctx, n, ms) =>
    ctx.send.sse(async function* () {
      for (let i = 0; i < n; i++) {
        await pause(ms)
        yield { id: String(i), data: { i } }
      }
    }()),
  generator: (ctx, n) =>
    ctx.send.stream(function* () {
      const line = 'x'.repeat(9999) + '\n'
      for (let i = 0; i < n; i++) yield line
    }()),
  throws: (_, n, ms) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await pause(ms)
          if (n-- <= 0) throw new RangeError('the body broke')
          controller.enqueue(encoder.encode('piece;'))
        },
      }),
    ),
  silent: () => new Response(new ReadableStream({ start: (c) => c.enqueue(encoder.encode('first;')) })),
  spins: (_, __, ms) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(encoder.encode('first;'))
          await pause(ms)
          while (true);
        },
      }),
    ),
  exits: (_, __, ms) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(encoder.encode('first;'))
          await pause(ms)
          ;(globalThis as unknown as { Deno: { exit(code: number): void } }).Deno.exit(3)
        },
      }),
    ),
  text: () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue('no bytes' as unknown as Uint8Array)
          controller.close()
        },
      }),
    ),
  clone: (_, n, ms) =>
    MADE.ticks!(_, n, ms) instanceof Response ? (MADE.ticks!(_, n, ms) as Response).clone() : null!,
}
