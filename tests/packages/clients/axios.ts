import type { Context } from '@mayfly/mayfly'
import axios from 'axios'

/** Asks by the adapter that `?adapter=` names: `http` or `fetch`. */
export async function GET(ctx: Context) {
  const { base, adapter } = ctx.get.query() as Record<string, string>
  const client = axios.create({ baseURL: base, adapter: adapter as 'http', headers: { 'x-own': 'axios' } })
  const got = await client.get('/json', { params: { q: 'größe' } })
  const posted = await client.post('/echo', { name: 'Ann' })
  const moved = await client.post('/moved', 'kept', { headers: { 'content-type': 'text/plain' } })
  const missing = await client.get('/missing').catch((error) => `${error.code} ${error.response?.status}`)
  const large = await client.get('/large', { responseType: 'arraybuffer' })
  const other = await client.get('http://other.test/').catch((error) => String(error.message))
  return ctx.send.json({
    got: [got.status, got.data, got.headers['x-answer']],
    posted: posted.data,
    moved: moved.data,
    missing,
    large: large.data.byteLength,
    other,
  })
}
