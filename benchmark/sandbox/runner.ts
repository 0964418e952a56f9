/** What answers a request in the process that was asked, for every way but workerd's. */
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { askProcess, askWorker } from '../isolated/fresh.ts'
import type { SandboxWay } from './plan.ts'
import { type Ask, FIRST_NUMBER, toAsk } from './program.ts'

/** One way at work. */
export interface WayRunner {
  /** What the program gives. */
  ask(ask: Ask): Promise<unknown>
  close(): Promise<void>
}

/** Longest time until a program that is called without a pause has its snapshot. */
const WARM_MS = 60_000

/** Opens a way; one whose program stays is warm then. Rejects for one that runs elsewhere. */
export async function openRunner(way: SandboxWay): Promise<WayRunner> {
  const close = () => Promise.resolve()
  if (way.id === 'worker') return { ask: inWorker, close }
  if (way.id === 'process') return { ask: inProcess, close }
  const { runtime } = way
  if (runtime === undefined) throw new TypeError(`Cannot open ${way.id}: it runs elsewhere`)
  const sandbox = await Sandbox.open({ runtime })
  try {
    const ask = way.id.startsWith('run') ? inRun(sandbox) : inGet(sandbox)
    if (way.isWarm) await warmUp(sandbox, ask)
    return { ask, close: () => sandbox.close() }
  } catch (error) {
    await sandbox.close()
    throw error
  }
}

function inRun(sandbox: Sandbox): WayRunner['ask'] {
  return async ({ source, order }) => (await sandbox.run(source, { args: [order], export: 'total' })).value
}

function inGet(sandbox: Sandbox): WayRunner['ask'] {
  return ({ name, source, order }) =>
    sandbox.get(name, () => ({ mainModule: 'main.js', modules: { 'main.js': source } })).call('total', order)
}

async function warmUp(sandbox: Sandbox, ask: WayRunner['ask']): Promise<void> {
  for (const end = performance.now() + WARM_MS; performance.now() < end;) {
    await ask(toAsk(FIRST_NUMBER))
    if (sandbox.stats().programs.some(({ warm }) => warm)) return
  }
  throw new Error(`Cannot measure a warm program: it has no snapshot of its own after ${WARM_MS} ms`)
}

async function inWorker({ source, order }: Ask): Promise<unknown> {
  const text = `${source}self.postMessage(total(${JSON.stringify(order)}))\n`
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  try {
    return await askWorker(url)
  } finally {
    URL.revokeObjectURL(url)
  }
}

async function inProcess({ source, order }: Ask): Promise<unknown> {
  return await askProcess('-', `${source}console.log(JSON.stringify(total(${JSON.stringify(order)})))\n`)
}
