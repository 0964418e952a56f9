/** A tenant that is a Hono app: `npm: true` in tenant.json bundles it with its packages, as its folder is trusted. */
import { Hono } from 'hono'

const ITEMS = [
  { id: 1, name: 'Tippet ring', cents: 390 },
  { id: 2, name: 'Hackle pliers', cents: 1250 },
]

const app = new Hono()

app.get('/', (c) => c.json(ITEMS))

app.get('/items/:id{[0-9]+}', (c) => {
  const item = ITEMS.find(({ id }) => id === Number(c.req.param('id')))
  return item === undefined ? c.notFound() : c.json(item)
})

app.notFound((c) => c.text('The shop has no such page', 404))

export default app
