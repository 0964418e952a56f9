import type { Context } from '@mayfly/mayfly'
import jwt from 'jsonwebtoken'

export const inputs = [
  { json: { sub: 'ann', iat: 1_700_000_000 } },
  { path: '?secret=other', json: { sub: 'jörg', iat: 1_700_000_000 } },
]

export async function POST(ctx: Context) {
  const token = jwt.sign(await ctx.get.json<object>(), 'secret', { algorithm: 'HS384' })
  try {
    const payload = jwt.verify(token, ctx.get.query('secret') ?? 'secret')
    return ctx.send.json({ token, payload, header: jwt.decode(token, { complete: true })?.header })
  } catch (error) {
    if (!(error instanceof jwt.JsonWebTokenError)) throw error
    return ctx.send.json({ error: (error as Error).message }, { status: 401 })
  }
}
