import type { Context } from '@mayfly/mayfly'

export const isolated = { outbound: true }

/** What `fetch` gives for `?url=` inside of the machine. The host decides; this handler checks nothing. */
export async function GET(ctx: Context) {
  try {
    const response = await fetch(ctx.get.query('url') ?? '')
    return ctx.send.json({ status: response.status, body: (await response.text()).slice(0, 1000) })
  } catch (error) {
    return ctx.send.json({ refused: (error as Error).message })
  }
}
