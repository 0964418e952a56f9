import type { Context } from '@mayfly/mayfly'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { fetch, request } from 'undici'

/** What opens a socket, and says so. */
export async function GET(ctx: Context) {
  const { base } = ctx.get.query() as Record<string, string>
  const words = (error: unknown): string => {
    const { message, cause } = error as Error
    return cause === undefined ? message : `${message}: ${words(cause)}`
  }
  const { port } = new URL(base!)
  const opened = (socket: ReturnType<typeof connect>) =>
    new Promise((resolve) =>
      socket.on('error', (error) => resolve(words(error))).on('connect', () => resolve('connected'))
    )
  return ctx.send.json({
    request: await request(`${base}/json`).then(() => 'asked', words),
    fetch: await fetch(`${base}/json`).then(() => 'asked', words),
    net: await opened(connect(Number(port), '127.0.0.1')),
    tls: await opened(connectTls(Number(port), '127.0.0.1')),
  })
}
