/** One isolate of `deno serve --parallel`: a program by name, and who answered. */
import { Sandbox } from '@mayfly/mayfly/sandbox'

const isolate = crypto.randomUUID()
let opened: Promise<Sandbox> | null = null
/** Exists once what waits may go on. */
const go = Deno.env.get('GO')!

/** Settles when the file is there. */
async function wait(): Promise<string> {
  while (!await Deno.stat(go).then(() => true, () => false)) await new Promise((done) => setTimeout(done, 50))
  return 'waited'
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/who') return Response.json({ isolate })
    const limits = { timeoutMs: 120_000 }
    const sandbox = await (opened ??= Sandbox.open({
      vms: 2,
      promoteAfter: 3,
      parked: { each: 3, all: 100 },
      limits,
    }))
    if (pathname === '/wait') {
      const waits = sandbox.get('waits', {
        mainModule: 'main.js',
        modules: { 'main.js': 'export async function run() { return await this.env.wait() }' },
        env: { wait },
      })
      const told = await waits.call('run').catch((error) => error.name)
      return Response.json({ isolate, told })
    }
    const worker = sandbox.get('counter', {
      mainModule: 'main.js',
      modules: {
        'main.js':
          'let n = 0\nexport const loaded = Date.now()\nexport const next = (by) => [n += by, loaded]',
      },
    })
    const [value, loaded] = await worker.call('next', 2) as number[]
    const program = sandbox.stats().programs.find(({ name }) => name === 'counter')
    return Response.json({ isolate, value, loaded, warm: program!.warm })
  },
}
