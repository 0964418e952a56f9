import type { Context } from '@mayfly/mayfly'
import Stripe from 'stripe'

export const inputs = [
  { json: { id: 'evt_1', type: 'charge.succeeded', data: { object: { amount: 1999, note: 'größe' } } } },
  { path: '?tamper=1', json: { id: 'evt_2', type: 'charge.failed', data: { object: {} } } },
]

const stripe = new Stripe('sk_test_none', { httpClient: Stripe.createFetchHttpClient(), telemetry: false })
const SECRET = 'whsec_test'

/** Signs a webhook's body and checks it, as its receiver does. */
export async function POST(ctx: Context) {
  const payload = await ctx.get.text()
  const header = await stripe.webhooks.generateTestHeaderStringAsync({
    payload,
    secret: SECRET,
    timestamp: 1_700_000_000,
  })
  const sent = ctx.get.query('tamper') === '1' ? payload.replace('evt_2', 'evt_3') : payload
  try {
    const event = await stripe.webhooks.constructEventAsync(sent, header, SECRET, 10 ** 12)
    return ctx.send.json({ id: event.id, type: event.type, header })
  } catch (error) {
    return ctx.send.json({ error: (error as Error).message.split('\n')[0] }, { status: 400 })
  }
}
