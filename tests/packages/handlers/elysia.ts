import { Elysia, t } from 'elysia'

export const inputs = [
  { path: '/users/7' },
  { path: '/users/x' },
  { path: '/users', json: { name: 'Zoë', age: 30 } },
  { path: '/users', json: { name: 'Zoë' } },
]

const app = new Elysia({ prefix: '/elysia', aot: false })
  .get('/users/:id', ({ params: { id } }) => ({ id, next: id + 1 }), {
    params: t.Object({ id: t.Number() }),
  })
  .post('/users', ({ body, set }) => {
    set.status = 201
    return { created: body.name, adult: body.age >= 18 }
  }, { body: t.Object({ name: t.String(), age: t.Number() }) })
  .onError(({ code, set }) => {
    if (code !== 'VALIDATION') return
    set.status = 422
    return { error: code }
  })

export default { fetch: (request: Request) => app.fetch(request) }
