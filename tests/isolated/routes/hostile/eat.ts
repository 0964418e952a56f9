/** Eats memory in the way that `?what=` names. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 20_000, memoryMb: 64, warmup: [{ path: '/eat?what=nothing' }] }

const ATTACKS: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  array: () => {
    const kept: unknown[] = []
    while (true) kept.push(new Array(100_000).fill(kept.length))
  },
  buffers: () => {
    const kept: Uint8Array[] = []
    while (true) kept.push(new Uint8Array(16 << 20).fill(1))
  },
  four_gigabytes: () => new Uint8Array(2 ** 32).fill(1),
  string: () => {
    let text = 'x'
    for (;;) text += text + text.length
  },
  wasm_memory: () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 })
    for (;;) new Uint8Array(memory.buffer, memory.buffer.byteLength - memory.grow(256)).fill(1)
  },
}

export function GET(ctx: Context): Response {
  ATTACKS[ctx.get.query('what')!]()
  return ctx.send.text('eaten')
}
