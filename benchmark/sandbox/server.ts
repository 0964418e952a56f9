/** One way behind `Deno.serve`, on `PORT` of 127.0.0.1: what it is sent with POST it answers with what the program gave. Argument: the way's id. */
import { findWay } from './plan.ts'
import { openRunner } from './runner.ts'

if (import.meta.main) {
  const { ask } = await openRunner(findWay(Deno.args[0]))
  Deno.serve(
    { hostname: '127.0.0.1', port: Number(Deno.env.get('PORT')), onListen() {} },
    async (request) =>
      request.method === 'POST' ? Response.json(await ask(await request.json())) : new Response('ready'),
  )
}
