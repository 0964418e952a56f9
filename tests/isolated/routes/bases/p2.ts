import type { Context } from '@mayfly/mayfly'

/** A program of its own, on the base that its neighbours have too. */
export const isolated = { timeoutMs: 5002, warmup: 20 }

/** Drawn when the module runs. */
const drawn = [crypto.randomUUID(), Math.random(), await makeKey()]
const secret = ['a secret', 'of p2', 'that no other may read'].join(' ')
let count = 0

async function makeKey(): Promise<string> {
  if (typeof Deno === 'undefined') return crypto.getRandomValues(new Uint8Array(32)).toHex()
  const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
  return new Uint8Array(await crypto.subtle.exportKey('raw', key)).toHex()
}

export function GET(ctx: Context) {
  const state = typeof Deno === 'undefined'
    ? 'prompt'
    : Deno.permissions.querySync({ name: 'read', path: '/program.js' }).state
  return ctx.send.json({ name: 'p2', drawn, length: secret.length, count: ++count, state })
}
