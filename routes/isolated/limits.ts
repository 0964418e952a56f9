import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  cpuMs: 1000,
  memoryMb: 16,
  outputBytes: 64 << 10,
  warmup: [{ path: '/isolated/limits' }],
}

/** `?try=` names a limit to break. Whatever it does, the next request finds a clean machine. */
export function GET(ctx: Context) {
  switch (ctx.get.query('try')) {
    case 'loop':
      for (;;);
    case 'memory':
      return ctx.send.json({ bytes: hoard() })
    case 'exit':
      return Deno.exit(3)
    case 'throw':
      throw new Error('Thrown inside the machine')
    case 'output':
      return ctx.send.text('x'.repeat(128 << 10))
    default:
      return ctx.send.json({ well: true })
  }
}

/** Bytes of which every page was written. */
function hoard(): number {
  const kept: Uint8Array[] = []
  while (kept.length < 4096) kept.push(new Uint8Array(1 << 20).fill(kept.length))
  return kept.length << 20
}
