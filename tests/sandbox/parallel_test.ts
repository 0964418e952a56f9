/** The isolates of `deno serve --parallel` share their machines, and each program once. */
import { assert, assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { measureMemory } from '../../benchmark/programs/memory.ts'
import { testIsolated } from '../isolated/fixture.ts'

const ISOLATES = 2
/** Requests of a program that may wait for the host, as `servers/parallel.ts` has it. */
const EACH = 3
/** Longest wait for anything, with a host that is busy. */
const LONG_MS = 60_000

interface Answer {
  readonly isolate: string
  readonly value: number
  /** When the modules of its snapshot ran. */
  readonly loaded: number
  readonly warm: boolean
}

/** Asks until `enough`; each request on a connection of its own, which the kernel gives to either isolate. */
async function askUntil(url: string, enough: (answers: readonly Answer[]) => boolean): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const end = performance.now() + LONG_MS; !enough(answers);) {
    assert(performance.now() < end, Deno.inspect(answers.slice(-10)))
    const clients = Array.from({ length: 4 }, () => Deno.createHttpClient({}))
    try {
      answers.push(
        ...await Promise.all(clients.map(async (client) => await (await fetch(url, { client })).json())),
      )
    } finally {
      for (const client of clients) client.close()
    }
  }
  return answers
}

/** Clients whose connections, which they keep, are of either isolate: `each` of both. */
async function connectToBoth(url: string, each: number): Promise<Deno.HttpClient[]> {
  const kept = new Map<string, Deno.HttpClient[]>()
  const count = () => [...kept.values()].reduce((sum, { length }) => sum + length, 0)
  for (const end = performance.now() + LONG_MS; count() < ISOLATES * each;) {
    assert(performance.now() < end, `one isolate has all connections: ${count()} are kept`)
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 })
    const { isolate } = await (await fetch(`${url}who`, { client })).json() as { isolate: string }
    const clients = kept.get(isolate) ?? []
    if (clients.length === each) client.close()
    else kept.set(isolate, [...clients, client])
  }
  return [...kept.values()].flat()
}

/** Requests of one program that wait for the host are bounded in the process, whichever isolate has them. */
async function assertParkedOnce(url: string, go: string): Promise<void> {
  const refused: string[] = []
  const waited: string[] = []
  const isolates = new Set<string>()
  const clients = await connectToBoth(url, 12)
  const all = Promise.all(clients.map(async (client) => {
    const { isolate, told } = await (await fetch(`${url}wait`, { client })).json() as Record<string, string>
    isolates.add(isolate!)
    if (told === 'waited') waited.push(told)
    else refused.push(told!)
  }))
  for (const end = performance.now() + LONG_MS; refused.length < clients.length - EACH;) {
    assert(performance.now() < end, `${refused.length} of ${clients.length} were refused`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await Deno.writeTextFile(go, '')
  await all
  for (const client of clients) client.close()
  assertEquals([waited.length, isolates.size], [EACH, ISOLATES])
  assertEquals(new Set(refused), new Set(['QueueError']))
}

function threads(pid: number, name: string): number {
  return [...Deno.readDirSync(`/proc/${pid}/task`)].filter(({ name: id }) =>
    Deno.readTextFileSync(`/proc/${pid}/task/${id}/comm`).startsWith(name)
  ).length
}

/** Runs with a server of two isolates, which answers. */
async function withServer(
  name: string,
  env: Readonly<Record<string, string>>,
  run: (url: string, pid: number) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  const { port } = listener.addr
  listener.close()
  const file = fromFileUrl(new URL(`./servers/${name}`, import.meta.url))
  const server = new Deno.Command(Deno.execPath(), {
    args: ['serve', '--parallel', '-A', '--no-check', '--host', '127.0.0.1', '--port', `${port}`, file],
    env: { DENO_JOBS: `${ISOLATES}`, ...env },
    stdin: 'null',
    stdout: 'null',
    stderr: 'inherit',
  }).spawn()
  try {
    const url = `http://127.0.0.1:${port}/`
    for (const end = performance.now() + LONG_MS;;) {
      const up = await fetch(`${url}who`).then(async (response) => (await response.body?.cancel(), true))
        .catch(
          () => false,
        )
      if (up) break
      assert(performance.now() < end, 'the server does not come up')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await run(url, server.pid)
  } finally {
    server.kill('SIGKILL')
    await server.status
  }
}

testIsolated('isolates of one process share one pool, and each program once', async () => {
  const folder = await Deno.makeTempDir()
  const go = `${folder}/go`
  try {
    await withServer('parallel.ts', { GO: go }, async (url, pid) => {
      const answers = await askUntil(url, (answers) => {
        const warm = new Set(answers.filter(({ warm }) => warm).map(({ isolate }) => isolate))
        return warm.size === ISOLATES
      })
      // Before its snapshot each call begins anew; in it, all go on from what its warm-up left.
      const last = await askUntil(url, (all) => new Set(all.map(({ isolate }) => isolate)).size === ISOLATES)
      assertEquals(answers[0]!.value, 2)
      assertEquals(new Set(last.map(({ value, loaded }) => `${value} ${loaded}`)).size, 1, Deno.inspect(last))
      await assertParkedOnce(url, go)
      assertEquals([threads(pid, 'mayfly-vm'), threads(pid, 'mayfly-pool')], [2, 1])
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

testIsolated('isolates of one process share one budget of memory', () => {
  const [budget, program, count] = [96, 8, 10]
  const env = { BUDGET_MB: `${budget}`, PROGRAM_BYTES: `${program << 20}` }
  return withServer('budget.ts', env, async (url, pid) => {
    const askOne = async (path: string) => {
      using client = Deno.createHttpClient({})
      return await (await fetch(url + path, { client })).json() as { isolate: string; done: boolean }
    }
    const isolates = new Set<string>()
    for (const end = performance.now() + LONG_MS; isolates.size < ISOLATES;) {
      assert(performance.now() < end, 'one isolate has all connections')
      isolates.add((await askOne('who')).isolate)
    }
    const fill = async (isolate: string, count: number) => {
      for (;;) if ((await askOne(`fill?isolate=${isolate}&count=${count}`)).done) break
      return (await measureMemory(pid)).snapshotBytes / 2 ** 20
    }
    const [first, second] = isolates
    const alone = await fill(first!, count)
    // All of them do not fit; one isolate alone has the whole budget.
    assert(alone > budget / 2 && alone <= budget, `${alone} MiB of one isolate`)
    await fill(second!, count)
    // The first one learns now and then that it has half of it.
    let both = Infinity
    for (const end = performance.now() + LONG_MS; both > budget && performance.now() < end;) {
      both = (await measureMemory(pid)).snapshotBytes / 2 ** 20
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    assert(both > budget / 2 && both <= budget, `${both} MiB of both, ${alone} of one`)
    // What was dropped answers again, and stays within.
    const last = await fill(first!, 1)
    assert(last <= budget, `${last} MiB of both`)
  })
})
