/** A thousand requests that each wait for the host, on two workers: how long they take in all, what each keeps, and what a neighbour notices. */
import { ownKib } from './memory.ts'
import { Sandbox } from '../../src/sandbox/mod.ts'

const REQUESTS = 1000
const WAIT_MS = 100

/** Measures and prints with `say`; false where an answer is wrong. */
export async function measureWaits(say: (text: string) => void): Promise<boolean> {
  await using sandbox = await Sandbox.open({
    vms: 2,
    queue: 4096,
    parked: { each: REQUESTS, all: REQUESTS },
    limits: { timeoutMs: 60_000 },
  })
  const modules = {
    'a.js': 'export const hello = () => 1\nexport async function wait() { return await this.env.wait() }',
  }
  let begun = 0
  /** KiB of the process once all have asked, and the milliseconds that reading that took: the kernel walks every mapping of it. */
  let most = 0
  let reading = 0
  const env = {
    wait() {
      if (++begun === REQUESTS) {
        const start = performance.now()
        most = ownKib()
        reading = performance.now() - start
      }
      return new Promise((done) => setTimeout(() => done(7), WAIT_MS))
    },
  }
  const waits = sandbox.get('waits', { mainModule: 'a.js', modules, env })
  const hello = sandbox.get('hello', { mainModule: 'a.js', modules })
  for (let warm = 0; warm < 60; warm++) {
    if (await waits.call('wait') !== 7 || await hello.call('hello') !== 1) return false
  }
  const alone = await helloUntil(hello, after(2000))
  const before = ownKib()
  begun = 0
  const begin = performance.now()
  const all = Promise.all(Array.from({ length: REQUESTS }, () => waits.call('wait')))
  const beside = await helloUntil(hello, all)
  const took = performance.now() - begin - reading
  const right = (await all).every((value) => value === 7)
  say(
    `\n${REQUESTS} requests that wait ${WAIT_MS} ms, two workers, load ${Deno.loadavg()[0]!.toFixed(1)}:`,
  )
  say(`- in all ${took.toFixed(0)} ms`)
  say(`- memory for each ${((most - before) / REQUESTS).toFixed(0)} KiB of the process`)
  say(`- p99 of a hello: ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside them`)
  return right
}

/** Calls one after the other until `end`; gives the 99th percentile in milliseconds. */
async function helloUntil(
  hello: { call(name: string): Promise<unknown> },
  end: Promise<unknown>,
): Promise<number> {
  let over = false
  end.finally(() => over = true)
  const taken: number[] = []
  while (!over || taken.length === 0) {
    const begin = performance.now()
    await hello.call('hello')
    taken.push(performance.now() - begin)
  }
  return taken.sort((a, b) => a - b)[Math.floor(taken.length * 0.99)]!
}

function after(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
