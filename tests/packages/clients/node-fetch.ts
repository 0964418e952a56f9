import type { Context } from '@mayfly/mayfly'
import fetch from 'node-fetch'

export async function GET(ctx: Context) {
  const { base } = ctx.get.query() as Record<string, string>
  const headers = { 'x-own': 'node-fetch' }
  const got = await fetch(`${base}/json?q=${encodeURIComponent('größe')}`, { headers })
  const json = { 'content-type': 'application/json', ...headers }
  const posted = await fetch(`${base}/echo`, { method: 'POST', body: '{"name":"Ann"}', headers: json })
  const moved = await fetch(`${base}/moved`, {
    method: 'POST',
    body: 'kept',
    headers: { ...headers, 'content-type': 'text/plain' },
  })
  const missing = await fetch(`${base}/missing`)
  let streamed = 0
  for await (const chunk of (await fetch(`${base}/large`)).body!) streamed += chunk.length
  const other = await fetch('http://other.test/').catch((error) => String(error.message))
  return ctx.send.json({
    got: [got.status, await got.json(), got.headers.get('x-answer')],
    posted: await posted.json(),
    moved: await moved.json(),
    missing: missing.status,
    large: streamed,
    other,
  })
}
