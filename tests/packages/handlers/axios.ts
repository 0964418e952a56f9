import type { Context } from '@mayfly/mayfly'
import { toTexts } from '~/texts.ts'
import axios, { AxiosError, AxiosHeaders } from 'axios'

export const inputs = [
  { json: { url: '/users', params: { q: 'größe', page: [1, 2] }, data: { name: 'Ann' } } },
  { path: '?connect=1' },
]

/** Runs interceptors, serialisation and an adapter of our own: nothing leaves. */
export async function POST(ctx: Context) {
  const client = axios.create({
    baseURL: 'https://api.example.com/v1',
    headers: { 'x-client': 'mayfly' },
    adapter: (config) => {
      const { method, data, headers } = config
      const echo = {
        uri: axios.getUri(config),
        method,
        data,
        type: headers['content-type'],
        client: headers['x-client'],
      }
      const response = {
        data: JSON.stringify(echo),
        status: 200,
        statusText: 'OK',
        headers: new AxiosHeaders(),
        config,
      }
      if (data === undefined) {
        return Promise.reject(new AxiosError('refused', 'ERR_BAD_REQUEST', config, {}, response))
      }
      return Promise.resolve(response)
    },
  })
  client.interceptors.request.use((config) => {
    config.headers.set('x-client', 'intercepted')
    return config
  })
  const { url, params, data } = await ctx.get.json<{ url: string; params: object; data: object }>()
  const posted = await client.post(url, data, { params })
  const failed = await client.get(url).catch((error: AxiosError) => `${error.code} ${error.message}`)
  return ctx.send.json({ posted: posted.data, failed })
}

export async function GET(ctx: Context) {
  try {
    const { data } = await axios.get('http://127.0.0.1:4/')
    return ctx.send.text(String(data))
  } catch (error) {
    return ctx.send.json({ failed: toTexts(error) }, { status: 502 })
  }
}
