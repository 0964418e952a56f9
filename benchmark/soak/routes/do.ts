/** Misbehaves as `?what=` says, and leaves a mark on the globals before. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 5000,
  memoryMb: 16,
  outputBytes: 10_000,
  warmup: [{ path: '/do?what=nothing' }],
}

type Case = (ctx: Context) => unknown

const CASES: Readonly<Record<string, Case>> = {
  nothing: () => null,
  throw: () => {
    throw new Error('thrown on purpose')
  },
  throw_trap: () => {
    throw new Proxy({}, {
      get() {
        throw new Error('no property of it can be read')
      },
    })
  },
  exit: () => Deno.exit(7),
  crash: () => (globalThis as unknown as { process: { abort(): void } }).process.abort(),
  output: (ctx) => ctx.send.text('x'.repeat(10_001)),
  log: () => {
    const bytes = new Uint8Array(65_536).fill(120)
    for (let i = 0; i < 16; i++) Deno.stderr.writeSync(bytes)
    return null
  },
  memory: () => {
    const kept: Uint8Array[] = []
    while (true) kept.push(new Uint8Array(4 << 20).fill(1))
  },
  prototypes: () => {
    for (const name of ['then', 'status', 'headers', 'get']) {
      Object.defineProperty(Object.prototype, name, { value: 'polluted', configurable: true, writable: true })
    }
    JSON.stringify = () => 'polluted'
    throw new Error('with polluted prototypes')
  },
  late: (ctx) => {
    setTimeout(() => Deno.exit(5), 1)
    return ctx.send.text('answered')
  },
}

export async function GET(ctx: Context): Promise<Response> {
  const what = ctx.get.query('what')!
  if (what !== 'nothing') (globalThis as Record<string, unknown>)[`mark_${what}`] = what
  const result = await CASES[what](ctx)
  return result instanceof Response ? result : ctx.send.text('done')
}
