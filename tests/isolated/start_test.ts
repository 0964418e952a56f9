/** What requests meet before the machines run, and where they cannot. */
import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { NativeBuildError } from '../../src/isolate/machines/errors.ts'
import type { BootedProgram, Machines, MachinesOptions } from '../../src/isolate/machines/machines.ts'
import type { Program } from '../../src/isolate/plan/program.ts'
import { until } from '../until.ts'
import { ScriptedMachines } from './scripted_machines.ts'
import { createWorkerSite, errorsOf, NO_KVM, problemIn, toUnavailable, withServer } from './worker_site.ts'

/** An opener that waits until it is let go, as if it built a library. */
function slowOpener(): {
  open: (options: MachinesOptions) => Promise<Machines>
  go: () => void
  signal?: AbortSignal
} {
  const { promise, resolve } = Promise.withResolvers<void>()
  const opener: ReturnType<typeof slowOpener> = {
    async open(options) {
      options.onBuild?.()
      opener.signal = options.signal
      const given = new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()))
      await Promise.race([promise, given])
      options.signal?.throwIfAborted()
      return new ScriptedMachines()
    },
    go: resolve,
  }
  return opener
}

Deno.test('without machines routes answer 503, and the start says why and what to do, once', async () => {
  const site = createWorkerSite('context', { isolate: {} })
  const told = await errorsOf(async () => {
    for (let i = 0; i < 3; i++) {
      const { status, type, headers } = await problemIn(site, '/users/1')
      assertEquals([status, type], [503, 'isolation-unavailable'])
      assertEquals([headers.get('retry-after'), headers.get('x-mayfly-isolation')], ['60', null])
    }
    assertEquals((await site.ask('/plain')).text, 'plain')
    await site.close()
  })
  assertEquals(told, [`mayfly: isolated routes answer 503 (isolation-unavailable): ${NO_KVM}`])
  const events = site.events.filter(({ kind }) => kind === 'isolate:unavailable')
  assertEquals(events.map(toUnavailable), [{ message: NO_KVM, instead: 'refuse' }])
})

Deno.test('a server says it at its start, before any request', async () => {
  const site = createWorkerSite('context', { isolate: {} })
  const told = await errorsOf(() => withServer(site, async () => await site.app.isolated.work))
  assertEquals(told.length, 1)
  assertStringIncludes(told[0], NO_KVM)
})

/** An opener that fails so many times. */
function failingOpener(times: number, error: Error) {
  const opener = {
    calls: 0,
    open: () => ++opener.calls > times ? Promise.resolve(new ScriptedMachines()) : Promise.reject(error),
  }
  return opener
}

for (const onUnavailable of ['refuse', 'worker'] as const) {
  Deno.test(`machines that could not be opened are tried again, where the answer was to ${onUnavailable}`, async () => {
    const opener = failingOpener(3, new Error('KVM opens, but its probe failed: EINTR'))
    const site = createWorkerSite('limits', {
      openMachines: opener.open,
      retryPauseMs: 30,
      isolate: { vms: 1, onUnavailable },
    })
    const told = await errorsOf(async () => {
      // Pauses keep no process alive.
      const alive = setInterval(() => {}, 1000)
      const first = await site.ask('/quick')
      assertEquals(first.status, onUnavailable === 'refuse' ? 503 : 200)
      await site.app.isolated.again
      await site.app.isolated.work
      clearInterval(alive)
      const { status, headers } = await site.ask('/quick')
      assertEquals([status, headers.get('x-mayfly-isolation')], [200, null])
      await site.close()
    })
    assertEquals(opener.calls, 4)
    assertStringIncludes(told.at(-1)!, 'virtual machines can run here now')
  })
}

Deno.test('an app that is closed tries no more', async () => {
  const opener = failingOpener(Infinity, new Error('never'))
  const site = createWorkerSite('limits', { openMachines: opener.open, retryPauseMs: 60_000, isolate: {} })
  await errorsOf(async () => {
    await site.ask('/quick')
    await site.close()
  })
  assertEquals(opener.calls, 1)
})

Deno.test('a library that cannot be built is as good as none', async () => {
  const site = createWorkerSite('limits', {
    openMachines: () => Promise.reject(new NativeBuildError('Cannot build the virtual machines: no cargo')),
  })
  const told = await errorsOf(async () => {
    assertEquals((await site.ask('/quick')).text, 'done')
    await site.close()
  })
  assertMatch(told.join(), /no virtual machine can run here: Cannot build the virtual machines: no cargo/)
})

Deno.test('a client waits for a start within bounds, and is told to come again', async () => {
  const opener = slowOpener()
  const site = createWorkerSite('limits', { openMachines: opener.open, startWaitMs: 50 })
  await withServer(site, async (origin) => {
    const ask = () => fetch(`${origin}/quick`, { headers: { accept: 'application/problem+json' } })
    const early = await ask()
    assertEquals([early.status, early.headers.get('retry-after')], [503, '5'])
    const { type, detail } = await early.json()
    assertEquals(type, 'isolation-starting')
    assertMatch(detail, /being built/)
    site.app.isolated.startWaitMs = 20_000
    const waiting = ask()
    opener.go()
    const answer = await waiting
    assertEquals([answer.status, await answer.text()], [200, 'done'])
    const later = await ask()
    assertEquals([later.status, await later.text()], [200, 'done'])
  })
})

Deno.test('the wait for a start is not the time of the handler, which has its own', async () => {
  const opener = slowOpener()
  const site = createWorkerSite('limits', { openMachines: opener.open, requestTimeoutMs: 300 })
  try {
    const waiting = [site.ask('/slow'), site.ask('/quick'), site.ask('/slow?ms=for-ever')]
    // Several times the limit of a request.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    opener.go()
    assertEquals((await Promise.all(waiting)).map(({ status }) => status), [200, 200, 504])
  } finally {
    await site.close()
  }
})

Deno.test('a server that ends does not wait for a build', async () => {
  const opener = slowOpener()
  const site = createWorkerSite('limits', { openMachines: opener.open, drainMs: 100 })
  const told = await errorsOf(() =>
    withServer(site, async (origin) => {
      const response = fetch(`${origin}/quick`).then(({ status }) => status, () => 0)
      await new Promise((resolve) => setTimeout(resolve, 50))
      void response
    })
  )
  assertEquals([opener.signal?.aborted, told], [true, []])
})

/** Machines that boot a program when they are let. */
class GatedMachines extends ScriptedMachines {
  readonly begun: string[] = []
  readonly #gates = new Map<string, PromiseWithResolvers<void>>()
  #open = false

  override async boot(plan: Program): Promise<BootedProgram> {
    const [{ route: { pattern } }] = plan.handlers
    this.begun.push(pattern)
    if (!this.#open) await this.#gate(pattern).promise
    return await super.boot(plan)
  }

  let(pattern: string): void {
    this.#gate(pattern).resolve()
  }

  letAll(): void {
    for (const { resolve } of this.#gates.values()) resolve()
    this.#open = true
  }

  fail(pattern: string, error: Error): void {
    this.#gate(pattern).reject(error)
  }

  #gate(pattern: string): PromiseWithResolvers<void> {
    const known = this.#gates.get(pattern) ?? Promise.withResolvers<void>()
    this.#gates.set(pattern, known)
    return known
  }
}

Deno.test('each program comes into service by itself, and first the one that is asked for', async () => {
  const machines = new GatedMachines()
  const openMachines = ({ signal }: MachinesOptions) => {
    signal?.addEventListener('abort', () => machines.letAll())
    return Promise.resolve(machines)
  }
  const site = createWorkerSite('bases', { openMachines, startWaitMs: 50 })
  await withServer(site, async (origin) => {
    const ask = async (path: string) => {
      const response = await fetch(origin + path, { headers: { accept: 'application/problem+json' } })
      const text = await response.text()
      return [response.status, response.ok ? text : JSON.parse(text).type]
    }
    await until('the first start', () => machines.begun.length === 1)
    const [first] = machines.begun
    assertEquals(await ask('/p3'), [503, 'isolation-starting'])
    machines.let(first)
    await until('the second start', () => machines.begun.length === 2)
    assertEquals(machines.begun[1], '/p3', 'a client asked for it')
    assertEquals(await ask('/env'), [200, 'done'], 'it does not wait for the others')
    machines.let('/p3')
    await until('the third start', () => machines.begun.length === 3)
    assertEquals(await ask('/p3'), [200, 'done'])
    // One that fails does so alone, and a client that waits for it hears of it.
    site.app.isolated.startWaitMs = 20_000
    const waiting = ask('/p1')
    assertEquals(machines.begun[2], '/p1')
    machines.fail('/p1', new Error('no such luck'))
    assertEquals((await waiting)[0], 500)
    const failures = site.events.filter(({ kind }) => kind === 'route:error')
    assertEquals(failures.map(({ metadata }) => String((metadata as { error: Error }).error)), [
      'Error: no such luck',
    ])
    machines.let('/p2')
    assertEquals(await ask('/p2'), [200, 'done'])
  })
})
