/** How often a program leaves its machine to ask the host. */
import { assertEquals } from '@std/assert'
import { type RunReport, Sandbox, type SandboxWorker } from '@mayfly/mayfly/sandbox'
import { inSomeSnapshot } from '../isolated/exits.ts'
import { testIsolated } from '../isolated/fixture.ts'

const PROGRAM = `
export const floor = () => 1
export default { fetch: () => new Response('<p>\\n<p>') }
export async function one() { return await this.env.one() }
export async function ten() {
  return (await Promise.all(Array.from({ length: 10 }, () => this.env.one()))).length
}
export async function beside() {
  const [one] = await Promise.all([this.env.one(), new Promise((done) => setTimeout(done, 1))])
  return one
}`
const METHODS = ['floor', 'page', 'one', 'ten']
/** One exit without a call of the host, whatever is in the answer, and one more for calls of the host, for ten as for one. */
const WANTED = [1, 1, 2, 2]

testIsolated(
  'an answer is one exit, and calls of the host leave with the read that waits for them',
  () => inSomeSnapshot(async () => assertEquals(await leastExits(), WANTED)),
)

/** The least of each method's calls: a busy host stops a run in its middle, for its deadlines. */
async function leastExits(): Promise<number[]> {
  await using sandbox = await Sandbox.open({ vms: 1, promoteAfter: 4, limits: { timeoutMs: 20_000 } })
  const worker = sandbox.get('exits', {
    mainModule: 'main.js',
    modules: { 'main.js': PROGRAM },
    env: { one: () => 1 },
  })
  const ready = Promise.withResolvers<void>()
  sandbox.on('sandbox:ready', () => ready.resolve())
  for (const method of [...METHODS, 'floor']) await ask(worker, method)
  await ready.promise
  const exits: number[] = []
  const onRun = ({ stats }: RunReport) => void exits.push(stats.exits)
  const entry = worker.entrypoint('default', { limits: { onRun } })
  const least: number[] = []
  for (const method of METHODS) {
    exits.length = 0
    for (let call = 0; call < 20; call++) await ask(entry, method)
    least.push(Math.min(...exits))
  }
  // Its timers go on meanwhile.
  assertEquals(await entry.call('beside'), 1)
  return least
}

/** Calls a method; a page is fetched, and has lines. */
async function ask(of: Pick<SandboxWorker, 'call' | 'fetch'>, method: string): Promise<void> {
  if (method !== 'page') await of.call(method)
  else assertEquals(await (await of.fetch('http://program.test/')).text(), '<p>\n<p>')
}
