/** A secret that the host adds, looked for in all memory of the machines: while they run, while they are parked, and after the reset. */
import { Sandbox, type SandboxOutbound, type SandboxWorker } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals } from '@std/assert'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'
import { searchGuestMemory } from './guest_memory.ts'
import { ECHOES, SECRET, serveEchoes, TOKEN } from './echoes.ts'

const PROGRAM = `
export async function ask(url) {
  try {
    const response = await fetch(url)
    return [response.status, [...response.headers], await response.text()]
  } catch (error) {
    console.log(error)
    return [error.name, error.message]
  }
}
export async function hold(url) {
  const told = await ask(url)
  await this.env.held()
  return told
}
export async function spin(url) {
  const told = await ask(url)
  await this.env.spins()
  for (;;);
}
const kept = []
export async function keep(text) { kept.push(text); await this.env.held(); return kept.length }`

for (const runtime of RUNTIMES) {
  testIn(runtime)('a secret is in no memory of a machine, however a server echoes it', async () => {
    await using server = serveEchoes()
    await using site = await open(runtime, server.list)
    const { worker, whileHeld, spins } = site
    for (const path of Object.keys(ECHOES)) {
      await whileHeld(worker.call('hold', server.origin + path), () => assertClean(`${path}, parked`))
      assertClean(`${path}, reset`)
    }
    // Running: the machine has its core, and what it was told is a moment old.
    const entry = worker.entrypoint('default', { limits: { timeoutMs: 3000 } })
    const spinning = entry.call('spin', `${server.origin}/header`).catch((error) => error)
    await spins()
    assertClean('running')
    const ended = String(await spinning)
    assert(ended.includes('3000 ms'), ended)
    assertClean('thrown away')
    // The program gets a snapshot of its own, made of what it had.
    await site.promote(() => worker.call('ask', `${server.origin}/header`))
    assertClean('snapshot')
    assert(server.heard.withSecret > Object.keys(ECHOES).length)
  })

  testIn(runtime)('the search finds a secret that is there', async () => {
    // A function of the host in place of the list, which keeps no echo out.
    const careless = ({ url }: Request) => ECHOES[new URL(url).pathname]!(SECRET)
    await using site = await open(runtime, careless)
    const { worker, whileHeld } = site
    const isIn = (text: string, ...places: string[]) => () =>
      assertEquals<readonly string[]>(searchGuestMemory(text).found, places)
    for (const path of ['/header', '/body']) {
      await whileHeld(worker.call('hold', `https://careless.test${path}`), isIn(TOKEN, 'machine'))
    }
    await whileHeld(worker.call('keep', TOKEN), isIn(TOKEN, 'machine'))
    isIn(TOKEN)()
    // Of two bytes a letter.
    await whileHeld(worker.call('keep', `${TOKEN}\u0416`), isIn(TOKEN, 'machine'))
    // In a snapshot: the text is the program's own.
    const own = crypto.randomUUID()
    const modules = { 'a.js': `export const f = () => '${own}'` }
    const other = site.sandbox.get('own', { mainModule: 'a.js', modules })
    await site.promote(async () => {
      await other.call('f')
      await worker.call('ask', 'https://careless.test/plain')
    })
    assert(searchGuestMemory(own).found.includes('snapshot'))
  })
}

/** A program with two functions of the host: one that holds it parked until it may go on, and one that says that it is about to spin. */
async function open(runtime: (typeof RUNTIMES)[number], outbound: SandboxOutbound) {
  const sandbox = await Sandbox.open({ vms: 2, runtime, promoteAfter: 3, limits: { timeoutMs: 30_000 } })
  let here = Promise.withResolvers<void>()
  let gate = Promise.withResolvers<void>()
  const turning = Promise.withResolvers<void>()
  const worker: SandboxWorker = sandbox.get('curious', {
    mainModule: 'a.js',
    modules: { 'a.js': PROGRAM },
    env: {
      held: async () => {
        here.resolve()
        await gate.promise
      },
      // The program spins once it has this answer.
      spins: () => void setTimeout(() => turning.resolve(), 300),
    },
    outbound,
  })
  return {
    sandbox,
    worker,
    spins: () => turning.promise,
    /** Looks while the program is parked in a call, and lets it go on. */
    async whileHeld(answer: Promise<unknown>, look: () => void) {
      try {
        await Promise.race([here.promise, answer])
        look()
      } finally {
        here = Promise.withResolvers()
        const { resolve } = gate
        gate = Promise.withResolvers()
        resolve()
        await answer
      }
    },
    /** Calls until all programs have snapshots of their own. */
    async promote(call: () => Promise<unknown>) {
      const isWarm = () => sandbox.stats().programs.every(({ warm }) => warm)
      for (const end = performance.now() + 120_000; !isWarm() && performance.now() < end;) {
        await call()
        await new Promise((done) => setTimeout(done, 50))
      }
      assert(isWarm(), 'no snapshot was made')
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  }
}

function assertClean(when: string): void {
  const { files, pages, found } = searchGuestMemory(TOKEN)
  assert(files > 0 && pages > 0, `${when}: ${files} files and ${pages} pages were searched`)
  assertEquals(found, [], when)
}
