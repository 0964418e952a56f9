/** What the programs of `routes/bases` do: each has this module for itself. */
import type { Context } from '@mayfly/mayfly'

/** Drawn when the module runs. */
const drawn = [crypto.randomUUID(), Math.random(), await makeKey()]
let count = 0

async function makeKey(): Promise<string> {
  if (typeof Deno === 'undefined') return crypto.getRandomValues(new Uint8Array(32)).toHex()
  const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
  return new Uint8Array(await crypto.subtle.exportKey('raw', key)).toHex()
}

/** Answers with the program's name, what it drew, and how often it was asked. */
export function tell(ctx: Context, name: string): Response {
  const state = typeof Deno === 'undefined'
    ? 'prompt'
    : Deno.permissions.querySync({ name: 'read', path: '/program.js' }).state
  return ctx.send.json({ name, drawn, count: ++count, state })
}

/** Takes back what the warm-up counted. */
export function beforeSnapshot(): void {
  count = 0
}
