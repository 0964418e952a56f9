import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/koa"
import Koa from 'koa'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

export const inputs = [
  { path: '?name=J%C3%B6rg' },
  { path: '?name=' },
]

const app = new Koa()
app.use(async (ctx, next) => {
  await next()
  ctx.set('x-koa', 'yes')
})
app.use((ctx) => {
  if (ctx.query.name === '') ctx.throw(400, 'a name is wanted')
  ctx.body = { hello: ctx.query.name, accepts: ctx.accepts('json', 'html') }
})
app.silent = true

/** Koa over Node's request and response, without a socket behind them. */
export async function GET(ctx: Context) {
  const request = new IncomingMessage(new Socket())
  request.method = 'GET'
  request.url = `/?name=${encodeURIComponent(ctx.get.query('name')!)}`
  request.headers = { host: 'localhost', accept: 'application/json' }
  const response = new ServerResponse(request)
  const chunks: string[] = []
  const done = new Promise<void>((resolve) => {
    response.end = ((chunk?: unknown) => {
      if (chunk !== undefined) chunks.push(String(chunk))
      resolve()
      return response
    }) as never
  })
  app.callback()(request, response)
  await done
  return ctx.send.json({
    status: response.statusCode,
    header: response.getHeader('x-koa'),
    body: chunks.join(''),
  })
}
