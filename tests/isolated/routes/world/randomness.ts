/** Every source of randomness, and the clocks. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 20_000, warmup: [{ path: '/randomness' }] }

const bootedAt = Date.now()

export async function GET(ctx: Context): Promise<Response> {
  return ctx.send.json({
    random: Math.random(),
    values: [...crypto.getRandomValues(new Uint32Array(4))].join(),
    uuid: crypto.randomUUID(),
    ...(!('process' in globalThis) ? {} : await drawFromDeno()),
  })
}

/** The sources that only Deno has; the module's name is no literal, as the runtime core's bundler would refuse it. */
async function drawFromDeno(): Promise<object> {
  const { randomBytes } = await import(`node:${'crypto'}`)
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt'])
  return {
    node: randomBytes(16).toString('hex'),
    key: new Uint8Array(await crypto.subtle.exportKey('raw', key)).toHex(),
  }
}

/** Works for 30 ms by the calendar, then waits for 50 ms. What `performance` tells encloses both. */
export async function POST(ctx: Context): Promise<Response> {
  const start = performance.now()
  const date = Date.now()
  while (Date.now() - date < 30);
  const worked = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 50))
  return ctx.send.json({ bootedAt, date, workedMs: worked - start, waitedMs: performance.now() - worked })
}
