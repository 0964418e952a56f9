/** Does `?n=` of what `?what=` names. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 20_000,
  cpuMs: 400,
  outputBytes: 1000,
  warmup: [{ path: '/do?what=work&n=1' }],
  limits: { systemCalls: 100, logBytes: 1000 },
}

const byte = new Uint8Array([120])

const CASES: Readonly<Record<string, (n: number, ctx: Context) => Response | void>> = {
  work: (n) => {
    const end = Date.now() + n
    while (Date.now() < end);
  },
  loop: () => {
    while (true);
  },
  writes: (n) => {
    const write = typeof Deno === 'undefined' ? () => console.log('') : () => Deno.stderr.writeSync(byte)
    for (let i = 0; i < n; i++) write()
  },
  log: (n) => console.log('x'.repeat(n - 1)),
  text: (n, ctx) => ctx.send.text('é'.repeat(n / 2) + (n % 2 === 1 ? 'e' : '')),
  bytes: (n) => new Response(new Uint8Array(n)),
  stream: (n, ctx) => ctx.send.stream([new Uint8Array(n - 1), new Uint8Array(1)]),
  header: (n, ctx) => ctx.send.text('', { headers: { 'x-long': 'x'.repeat(n) } }),
  // What no answer may be: the host finds out.
  bodiless: (n) => Object.defineProperty(new Response(new Uint8Array(n)), 'status', { value: 204 }),
}

export function GET(ctx: Context): Response {
  return CASES[ctx.get.query('what')!](Number(ctx.get.query('n')), ctx) ?? ctx.send.text('done')
}
