import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { z } from 'zod'

export const inputs = [
  { path: '/greet?input=' + encodeURIComponent('{"name":"Søren"}') },
  { path: '/greet?input=' + encodeURIComponent('{"name":""}') },
  { path: '/add', json: { a: 2, b: 40 } },
  { path: '/fail' },
]

const t = initTRPC.create({ isDev: false })
const router = t.router({
  greet: t.procedure.input(z.object({ name: z.string().min(1) })).query((
    { input },
  ) => ({ text: `hi ${input.name}` })),
  add: t.procedure.input(z.object({ a: z.number(), b: z.number() })).mutation((
    { input },
  ) => input.a + input.b),
  fail: t.procedure.query(() => {
    throw new TRPCError({ code: 'CONFLICT', message: 'taken' })
  }),
})

export default {
  fetch: (req: Request) =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req,
      router,
      createContext: () => ({}),
    }),
}
