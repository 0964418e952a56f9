/**
 * Asks the routes of `clients/`, isolated, about a server of this process, and prints a line of JSON for each answer. It runs under this
 * folder's `deno.json`, which knows the packages.
 */
import { Router } from '@mayfly/mayfly'
import { makeFolder } from './sites.ts'

const CLIENTS = new URL('./clients/', import.meta.url)
const ISOLATED = { timeoutMs: 20_000, memoryMb: 256, warmup: 0, outbound: true }

const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, async (request) => {
  const { pathname, search } = new URL(request.url)
  const headers = new Headers({ 'x-answer': 'yes' })
  const told = (name: string) => request.headers.get(name)
  switch (pathname) {
    case '/json':
      return Response.json({ search, own: told('x-own') }, { headers })
    case '/echo':
      return Response.json({
        method: request.method,
        type: told('content-type'),
        length: told('content-length'),
        own: told('x-own'),
        secret: told('authorization') !== null,
        text: await request.text(),
      })
    case '/length':
      return new Response(`${(await request.bytes()).length}`)
    case '/moved':
      return new Response('moved', { status: 307, headers: { location: '/echo' } })
    case '/large':
      return new Response(new Uint8Array(3_000_000))
    case '/cookies':
      headers.append('set-cookie', 'a=1')
      headers.append('set-cookie', 'b=2')
      return new Response('x', { headers })
    case '/never':
      return await new Promise<Response>(() => {})
  }
  return new Response('no', { status: 404 })
})
const base = `http://127.0.0.1:${server.addr.port}`
const folder = await makeFolder()
try {
  for (const { name } of Deno.readDirSync(CLIENTS)) {
    const text = await Deno.readTextFile(new URL(name, CLIENTS))
    await Deno.writeTextFile(
      `${folder}/${name}`,
      `${text}\nexport const isolated = ${JSON.stringify(ISOLATED)}\n`,
    )
  }
  const router = new Router({
    routesDir: folder,
    hotReload: false,
    requestTimeoutMs: 0,
    isolate: {
      vms: 1,
      outbound: { allow: [base], headers: { [base]: { authorization: 'Bearer very-secret' } } },
    },
  })
  router.catch((_, { error }) => void console.error(error))
  for (const path of Deno.args) {
    const response = await router.fetch(
      new Request(`http://localhost${path}${path.includes('?') ? '&' : '?'}base=${base}`),
    )
    console.log(JSON.stringify({ path, status: response.status, text: await response.text() }))
  }
  await router.close()
} finally {
  await Deno.remove(folder, { recursive: true })
}
// Of requests that nobody answers.
Deno.exit(0)
