import type { Context } from '@mayfly/mayfly'

/** The first call waits until the counter's machine has booted. */
export const isolated = { bindings: ['COUNTER'], timeoutMs: 20_000 }

interface Env {
  readonly COUNTER: { next(): Promise<string> }
}

/** This machine is reset behind the answer, and the counter's is not. */
export async function GET(ctx: Context) {
  const { COUNTER } = ctx.env as unknown as Env
  return ctx.send.text(await COUNTER.next())
}
