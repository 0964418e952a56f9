/** One isolate of `deno serve --parallel` with programs of its own, each with a large snapshot, under the budget of `BUDGET_MB`. */
import { Sandbox } from '@mayfly/mayfly/sandbox'

const isolate = crypto.randomUUID()
const [budget, bytes] = ['BUDGET_MB', 'PROGRAM_BYTES'].map((name) => Number(Deno.env.get(name)))
let opened: Promise<Sandbox> | null = null
let programs = 0

/** Gets so many more programs a snapshot. */
async function fill(sandbox: Sandbox, count: number): Promise<void> {
  for (const end = programs + count; programs < end;) {
    const name = `${isolate} ${programs++}`
    const ready = new Promise<void>((resolve) => {
      const stop = sandbox.on('sandbox:ready', ({ metadata }) => {
        if ((metadata as { name: string }).name !== name) return
        stop()
        resolve()
      })
    })
    await ask(sandbox, name)
    await ready
    await ask(sandbox, name)
  }
}

async function ask(sandbox: Sandbox, name: string): Promise<unknown> {
  const text =
    `const kept = new Uint8Array(${bytes}).fill(7)\nexport const sum = () => '${name} ' + kept.at(-1)`
  const answer = await sandbox.get(name, { mainModule: 'main.js', modules: { 'main.js': text } }).call('sum')
  if (answer !== `${name} 7`) throw new Error(`${name} answers ${answer}`)
  return answer
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (searchParams.get('isolate') !== null && searchParams.get('isolate') !== isolate) {
      return Response.json({ isolate, done: false })
    }
    if (pathname === '/who') return Response.json({ isolate })
    const sandbox = await (opened ??= Sandbox.open({
      vms: 2,
      runtime: 'core',
      promoteAfter: 1,
      memoryBudgetMb: budget,
      limits: { timeoutMs: 60_000 },
    }))
    await fill(sandbox, Number(searchParams.get('count')))
    for (let i = 0; i < programs; i++) await ask(sandbox, `${isolate} ${i}`)
    return Response.json({ isolate, done: true })
  },
}
