import { getQuery, H3, HTTPError, readBody } from 'h3'

export const inputs = [
  { path: '/h3/hello/J%C3%B6rg?times=3' },
  { path: '/h3/sum', json: [1, 2, 3.5] },
  { path: '/h3/teapot' },
  { path: '/h3/missing' },
].map((input) => ({ ...input, path: input.path.slice('/h3'.length) }))

const app = new H3()
app.get('/h3/hello/:name', (event) => {
  const name = decodeURIComponent(event.context.params!.name)
  return { hello: Array(Number(getQuery(event).times ?? 1)).fill(name) }
})
app.post('/h3/sum', async (event) => {
  const numbers = await readBody<number[]>(event) ?? []
  event.res.headers.set('x-count', String(numbers.length))
  return { sum: numbers.reduce((sum, number) => sum + number, 0) }
})
app.get('/h3/teapot', () => {
  throw new HTTPError({ status: 418, message: 'short and stout' })
})

export default { fetch: (request: Request) => app.fetch(request) }
