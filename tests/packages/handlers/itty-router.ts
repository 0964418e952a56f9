import { AutoRouter, error, type IRequest } from 'itty-router'

export const inputs = [
  { path: '/todos' },
  { path: '/todos/2?done=1' },
  { path: '/todos/9' },
  { path: '/todos', json: { title: 'süß' } },
]

const TODOS = [{ id: 1, title: 'buy milk' }, { id: 2, title: 'read a book' }]

const router = AutoRouter({ base: '/itty-router' })
router
  .get('/todos', () => TODOS)
  .get('/todos/:id', ({ params, query }: IRequest) => {
    const todo = TODOS.find(({ id }) => id === Number(params.id))
    return todo === undefined ? error(404, 'no such todo') : { ...todo, done: query.done === '1' }
  })
  .post(
    '/todos',
    async (request: IRequest) => ({ id: TODOS.length + 1, ...await request.json() }),
  )

export default { fetch: router.fetch }
