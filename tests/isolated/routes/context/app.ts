/** A Hono app, from npm, mounted whole. */
import { Hono } from 'hono'

export const isolated = { warmup: [{ path: '/app/hello' }] }

let calls = 0
const app = new Hono()
app.get('/app/hello', (c) => c.text('hello from hono'))
app.get('/app/users/:id', (c) => c.json({ id: c.req.param('id'), calls: ++calls }))
app.post('/app/echo', async (c) => c.json(await c.req.json(), 201))
app.get('/app/broken', () => {
  throw new Error('inside hono')
})

export default app
