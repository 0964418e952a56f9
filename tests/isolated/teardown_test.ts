/** Ends of routers: at any instant each request is answered, and nothing of the machines stays. */
import { assert, assertEquals } from '@std/assert'
import { openSite, RUNTIMES, type Site, testIn } from './fixture.ts'

/** Milliseconds after a first request; a start takes some 300 here. */
const INSTANTS = [0, 40, 150]

for (const runtime of RUNTIMES) {
  const test = testIn(runtime)

  test('a router that is closed while it starts answers its requests, and leaves nothing', async () => {
    for (const ms of INSTANTS) {
      const site = openSite('loopback', { isolate: { vms: 2, runtime } })
      const pending = [site.ask('/'), site.ask('/')]
      await new Promise((resolve) => setTimeout(resolve, ms))
      await site.close()
      for (const { status } of await Promise.all(pending)) {
        assert(status === 200 || status === 503, `status ${status} after ${ms} ms`)
      }
      await assertNothing(`closed after ${ms} ms`)
    }
  })

  test('a router is closed while another starts, which is none the worse', async () => {
    const other = openSite('loopback', { isolate: { vms: 1, runtime } })
    await other.ask('/')
    const site = openSite('loopback', { isolate: { vms: 1, runtime } })
    const pending = site.ask('/')
    await new Promise((resolve) => setTimeout(resolve, 5))
    await other.close()
    assertEquals((await pending).status, 200)
    await site.close()
    await assertNothing('both closed')
  })

  test('machines that were lost leave nothing, nor does what runs at the end', async () => {
    const site = openSite('hostile', { isolate: { vms: 2, runtime } })
    for (const path of ['/do?what=throw_in_timer', '/eat?what=array', '/do?what=regexp', '/do?what=late']) {
      await site.ask(path)
    }
    await assertHeld(site)
    const pending = site.ask('/do?what=loop')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await site.close()
    assertEquals((await pending).status, 504)
    await assertNothing('closed after misdeeds')
  })
}

/** That {@link held} sees something of a site at work. */
async function assertHeld(site: Site): Promise<void> {
  assertEquals((await site.ask('/hello')).status, 200)
  const names = held().join()
  for (const name of ['kvm-vm', 'kvm-vcpu', 'mayfly-guest', 'mayfly-vm']) assert(names.includes(name), names)
}

/** Threads end a moment after they were joined, as `/proc` has it. */
async function assertNothing(when: string): Promise<void> {
  for (let tries = 0; tries < 100 && held().length > 0; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assertEquals(held(), [], when)
}

/** File descriptors and threads of machines that this process has. */
function held(): string[] {
  const found: string[] = []
  for (const { name } of Deno.readDirSync('/proc/self/fd')) {
    const link = read(() => Deno.readLinkSync(`/proc/self/fd/${name}`))
    if (/kvm-v|memfd:mayfly/.test(link)) found.push(link)
  }
  for (const { name } of Deno.readDirSync('/proc/self/task')) {
    const thread = read(() => Deno.readTextFileSync(`/proc/self/task/${name}/comm`)).trim()
    if (/^mayfly/.test(thread)) found.push(thread)
  }
  return found
}

/** What is read; '' for what is gone meanwhile. */
function read(get: () => string): string {
  try {
    return get()
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return ''
    // A thread that has ended, but not gone: ESRCH.
    if ((error as { code?: unknown }).code === 'ESRCH') return ''
    throw error
  }
}
