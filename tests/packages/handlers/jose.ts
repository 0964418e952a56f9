import type { Context } from '@mayfly/mayfly'
import { base64url, errors, jwtVerify, SignJWT } from 'jose'

export const inputs = [
  { json: { sub: 'ann', roles: ['admin'] } },
  { path: '?tamper=1', json: { sub: 'jörg', roles: [] } },
]

const SECRET = new TextEncoder().encode('0123456789abcdef0123456789abcdef')

export async function POST(ctx: Context) {
  const { sub, roles } = await ctx.get.json<{ sub: string; roles: string[] }>()
  const token = await new SignJWT({ roles }).setProtectedHeader({
    alg: 'HS256',
  }).setSubject(sub)
    .setIssuedAt(1_700_000_000).setExpirationTime(4_000_000_000).sign(SECRET)
  const sent = ctx.get.query('tamper') === '1'
    ? token.replace(/\.[^.]*$/, `.${base64url.encode('no')}`)
    : token
  try {
    const { payload } = await jwtVerify(sent, SECRET)
    return ctx.send.json({ token, payload })
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    return ctx.send.json({ code: error.code }, { status: 401 })
  }
}
