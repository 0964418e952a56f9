/** Holds `?n=` of what `?what=` names at the same time. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 20_000,
  memoryMb: 512,
  warmup: [{ path: '/hold?what=nothing&n=1' }],
  limits: { files: 64, mappings: 4096 },
}

const CASES: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  // Each has some descriptors.
  workers: () => new Worker(URL.createObjectURL(new Blob([''])), { type: 'module' }),
  // Pages of other rights than their neighbours.
  tables: () => new WebAssembly.Memory({ initial: 1, maximum: 2 }),
}

export function GET(ctx: Context): Response {
  const run = CASES[ctx.get.query('what')!]
  const held = Array.from({ length: Number(ctx.get.query('n')) }, run)
  return ctx.send.text(String(held.length))
}
