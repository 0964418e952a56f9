/** The isolates of `deno serve --parallel` share their machines, and each program once. */
import { assert, assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
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

/** Requests of one program that wait for the host are bounded in the process, whichever isolate has them. */
async function assertParkedOnce(url: string, go: string): Promise<void> {
  const refused: string[] = []
  const waited: string[] = []
  const isolates = new Set<string>()
  const clients = Array.from({ length: 24 }, () => Deno.createHttpClient({}))
  const all = Promise.all(clients.map(async (client) => {
    const { isolate, told } = await (await fetch(url, { client })).json() as Record<string, string>
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

testIsolated('isolates of one process share one pool, and each program once', async () => {
  const listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  const { port } = listener.addr
  listener.close()
  const file = fromFileUrl(new URL('./servers/parallel.ts', import.meta.url))
  const folder = await Deno.makeTempDir()
  const go = `${folder}/go`
  const server = new Deno.Command(Deno.execPath(), {
    args: ['serve', '--parallel', '-A', '--no-check', '--host', '127.0.0.1', '--port', `${port}`, file],
    env: { DENO_JOBS: `${ISOLATES}`, GO: go },
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
    const answers = await askUntil(url, (answers) => {
      const warm = new Set(answers.filter(({ warm }) => warm).map(({ isolate }) => isolate))
      return warm.size === ISOLATES
    })
    // Before its snapshot each call begins anew; in it, all go on from what its warm-up left.
    const last = await askUntil(url, (all) => new Set(all.map(({ isolate }) => isolate)).size === ISOLATES)
    assertEquals(answers[0]!.value, 2)
    assertEquals(new Set(last.map(({ value, loaded }) => `${value} ${loaded}`)).size, 1, Deno.inspect(last))
    await assertParkedOnce(`${url}wait`, go)
    assertEquals([threads(server.pid, 'mayfly-vm'), threads(server.pid, 'mayfly-pool')], [2, 1])
  } finally {
    server.kill('SIGKILL')
    await server.status
    await Deno.remove(folder, { recursive: true })
  }
})
