import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { validator } from 'hono/validator'

export const inputs = [
  { path: '/users/ann?verbose=1' },
  { path: '/users/ann', headers: { origin: 'https://example.com' } },
  { path: '/orders', json: { item: 'Käse', count: 3 } },
  { path: '/orders', json: { count: 'three' } },
  { path: '/page/gr%C3%BC%C3%9Fe' },
  { path: '/nothing' },
]

const app = new Hono().basePath('/hono')
app.use('*', cors(), secureHeaders())
app.get(
  '/users/:id',
  (c) => c.json({ id: c.req.param('id'), verbose: c.req.query('verbose') === '1' }),
)
app.get('/page/:title', (c) => c.html(html`<h1>${c.req.param('title')}</h1>`))
app.post(
  '/orders',
  validator('json', (value, c) => {
    if (typeof value.item !== 'string') return c.json({ error: 'item' }, 400)
    return { item: value.item as string, count: Number(value.count) }
  }),
  (c) => c.json({ ordered: c.req.valid('json') }, 201),
)

export default app
