/** Never ends, as `?what=` says. A program of its own: its time is too short for others on a busy machine. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 8, memoryMb: 16, warmup: [{ path: '/loop?what=nothing' }] }

const CASES: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  spin: () => {
    while (true);
  },
  microtasks: async () => {
    while (true) await null
  },
  regexp: () => /^(a+)+$/.test('a'.repeat(40) + 'b'),
}

export async function GET(ctx: Context): Promise<Response> {
  await CASES[ctx.get.query('what')!]()
  return ctx.send.text('done')
}
