import type { Context } from '@mayfly/mayfly'
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http'
import * as https from 'node:https'

/** The module itself, with connections that are kept, bodies in chunks, and what ends early. */
export async function GET(ctx: Context) {
  const { base } = ctx.get.query() as Record<string, string>
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (path: string, options: RequestOptions = {}, body?: readonly string[]) =>
    new Promise<{ status: number; text: string; head: IncomingMessage }>((resolve, reject) => {
      const asked = request(base + path, { agent, ...options }, async (head) => {
        let text = ''
        for await (const chunk of head) text += chunk
        resolve({ status: head.statusCode!, text, head })
      })
      asked.on('error', reject)
      for (const chunk of body ?? []) asked.write(chunk)
      asked.end()
    })
  const words = (error: Error) => error.message
  const chunked = await ask('/echo', { method: 'POST', headers: { 'content-type': 'text/plain' } }, [
    'a',
    'b',
    'ä',
  ])
  const upload = await ask(
    '/length',
    { method: 'PUT' },
    Array.from({ length: 30 }, () => 'x'.repeat(100_000)),
  )
  const sized = await ask('/echo', { method: 'POST', headers: { 'content-length': 2 } }, ['ok'])
  const head = await ask('/json', { method: 'HEAD' })
  const cookies = await ask('/cookies')
  const two = await Promise.all([ask('/large'), ask('/missing')])
  const late = await new Promise((resolve) => {
    const asked = request(`${base}/never`)
    asked.setTimeout(50, () => asked.destroy(new Error('late')))
    asked.on('error', (error) => resolve(error.message)).end()
  })
  const signal = AbortSignal.timeout(50)
  const aborted = await ask('/never', { signal, agent: false }).catch((error) => error.name)
  const socket = await ask('/json', { socketPath: '/run/docker.sock' }).catch(words)
  const upgrade = await ask('/json', { headers: { connection: 'upgrade', upgrade: 'websocket' } }).catch(
    words,
  )
  const other = await new Promise((resolve) => {
    https.get('https://other.test/', () => resolve('')).on('error', (error) => resolve(error.message))
  })
  return ctx.send.json({
    chunked: chunked.text,
    upload: upload.text,
    sized: sized.text,
    head: [head.status, head.text, head.head.headers['x-answer']],
    cookies: cookies.head.headers['set-cookie'],
    two: two.map(({ status, text }) => [status, text.length]),
    late,
    aborted,
    socket,
    upgrade,
    other,
  })
}
