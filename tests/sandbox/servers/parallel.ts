/** One isolate of `deno serve --parallel`: a program by name, and who answered. */
import { Sandbox } from '@mayfly/mayfly/sandbox'

const isolate = crypto.randomUUID()
let opened: Promise<Sandbox> | null = null

export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/who') return Response.json({ isolate })
    const sandbox = await (opened ??= Sandbox.open({ vms: 2, promoteAfter: 3 }))
    const worker = sandbox.get('counter', {
      mainModule: 'main.js',
      modules: {
        'main.js':
          'let n = 0\nexport const loaded = Date.now()\nexport const next = (by) => [n += by, loaded]',
      },
    })
    const [value, loaded] = await worker.call('next', 2) as number[]
    const { programs: [program] } = sandbox.stats()
    return Response.json({ isolate, value, loaded, warm: program!.warm })
  },
}
