/** The isolates of `deno serve --parallel` share their machines, and each program once. */
import { assert, assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { testIsolated } from '../isolated/fixture.ts'

const ISOLATES = 2
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
  const server = new Deno.Command(Deno.execPath(), {
    args: ['serve', '--parallel', '-A', '--no-check', '--host', '127.0.0.1', '--port', `${port}`, file],
    env: { DENO_JOBS: `${ISOLATES}` },
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
    assertEquals([threads(server.pid, 'mayfly-vm'), threads(server.pid, 'mayfly-pool')], [2, 1])
  } finally {
    server.kill('SIGKILL')
    await server.status
  }
})
