import type { Context } from '@mayfly/mayfly'
import Fastify from 'fastify'

export const inputs = [
  { path: '?url=/users/7' },
  { path: '?url=/users/x' },
  { json: { name: 'Zoë', age: 30 } },
  { json: { name: 'Zoë', age: -1 } },
]

const app = Fastify()
app.get('/users/:id', {
  schema: {
    params: { type: 'object', properties: { id: { type: 'integer' } } },
    response: { 200: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } } },
  },
}, ({ params }) => ({ id: (params as { id: number }).id, name: 'Ann', secret: 'not in the schema' }))
app.post('/users', {
  schema: {
    body: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
    },
  },
}, async ({ body }, reply) => {
  await reply.status(201).send({ created: body })
})

/** Without a socket: `inject` runs the whole of fastify. */
async function inject(ctx: Context, url: string, payload?: object) {
  const { statusCode, headers, body } = await app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url,
    payload,
  })
  return ctx.send.custom(body, {
    status: statusCode,
    headers: { 'content-type': String(headers['content-type']) },
  })
}

export const GET = (ctx: Context) => inject(ctx, ctx.get.query('url')!)
export const POST = async (ctx: Context) => inject(ctx, '/users', await ctx.get.json<object>())
