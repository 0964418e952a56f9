import type { Context } from '@mayfly/mayfly'
import got from 'got'

export async function GET(ctx: Context) {
  const { base } = ctx.get.query() as Record<string, string>
  const client = got.extend({
    prefixUrl: base,
    headers: { 'x-own': 'got' },
    retry: { limit: 0 },
    timeout: { request: 10_000 },
  })
  const json = await client.get('json', { searchParams: { q: 'größe' } })
  const posted = await client.post('echo', { json: { name: 'Ann' } }).json()
  const moved = await client.post('moved', {
    body: 'kept',
    headers: { 'content-type': 'text/plain' },
    methodRewriting: false,
  }).json()
  const missing = await client.get('missing').catch((error) => `${error.code} ${error.response?.statusCode}`)
  let streamed = 0
  for await (const chunk of client.stream('large')) streamed += chunk.length
  const other = await got('http://other.test/', { retry: { limit: 0 } }).catch((error) =>
    String(error.message)
  )
  return ctx.send.json({
    got: [json.statusCode, JSON.parse(json.body), json.headers['x-answer']],
    posted,
    moved,
    missing,
    large: streamed,
    other,
  })
}
