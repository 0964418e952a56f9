import { Hono } from 'hono'

export const isolated = {
  warmup: [
    { path: '/test-isolated-hono/hello' },
    { path: '/test-isolated-hono/users/7' },
    { method: 'POST', path: '/test-isolated-hono/echo', body: 'warm' },
  ],
}

const app = new Hono().basePath('/test-isolated-hono')
app.get('/hello', (c) => c.json({ hello: 'world!' }))
app.get('/users/:id', (c) => c.text(`user ${c.req.param('id')}`))
app.post('/echo', async (c) => c.text(await c.req.text()))

export default app
