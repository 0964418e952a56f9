/** `Deno`, as far as a program with variables has it. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { env: ['MAYFLY_SURFACE'], warmup: [{ path: '/variables?what=get' }] }

const USES: Readonly<Record<string, () => unknown>> = {
  get: () => Deno.env.get('MAYFLY_SURFACE'),
  has: () => Deno.env.has('MAYFLY_OTHER'),
  all: () => JSON.stringify(Deno.env.toObject()),
  set: () => Deno.env.set('MAYFLY_SURFACE', 'x'),
  delete: () => Deno.env.delete('MAYFLY_SURFACE'),
  read: () => Deno.readTextFileSync('/etc/hostname'),
  serve: () => Deno.serve(() => new Response()),
}

export function GET(ctx: Context): Response {
  return ctx.send.text(String(USES[ctx.get.query('what')!]()))
}
