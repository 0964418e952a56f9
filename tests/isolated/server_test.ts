/** Isolated routes over sockets: a soak, and reloads under load. */
import { assert, assertEquals } from '@std/assert'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { RUNTIMES, testIn } from './fixture.ts'
import { listen } from '../listening.ts'

const DEADLINE_MS = 60_000

/** A server over a folder of its own. */
interface Server {
  readonly origin: string
  readonly events: LifecycleEvent[]
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
  /** `STATUS BODY`. */
  ask(path: string): Promise<string>
  /** Asks until the answer is `wanted`; gives all answers. */
  until(path: string, wanted: string): Promise<string[]>
}

function testServer(
  name: string,
  files: Record<string, string>,
  run: (server: Server) => Promise<void>,
): void {
  for (const runtime of RUNTIMES) {
    testIn(runtime)(name, async () => {
      const folder = await Deno.makeTempDir()
      try {
        for (const [file, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${file}`, text)
        const router = new Router({
          routesDir: folder,
          hotReload: true,
          requestTimeoutMs: 0,
          drainMs: 1000,
          isolate: { vms: 1, runtime },
        })
        const events: LifecycleEvent[] = []
        router.on((event) => void events.push(event))
        await using server = await listen((options) => router.serve(options))
        await run(toServer(folder, server.origin, events))
      } finally {
        await Deno.remove(folder, { recursive: true })
      }
    })
  }
}

function toServer(folder: string, origin: string, events: LifecycleEvent[]): Server {
  const ask = async (path: string) => {
    const response = await fetch(`${origin}${path}`)
    return `${response.status} ${await response.text()}`
  }
  return {
    origin,
    events,
    ask,
    write: (name, text) => Deno.writeTextFile(`${folder}/${name}`, text),
    remove: (name) => Deno.remove(`${folder}/${name}`),
    async until(path, wanted) {
      const answers: string[] = []
      for (const end = performance.now() + DEADLINE_MS; performance.now() < end;) {
        answers.push(await ask(path))
        if (answers.at(-1) === wanted) return answers
      }
      throw new Error(`Cannot wait longer: ${path} answers ${answers.at(-1)}, want ${wanted}`)
    },
  }
}

/** A route that answers with a word, its call in this machine and what it imports. */
function route(word: string): string {
  return `export const isolated = { warmup: 5 }
let calls = 0
export function GET(ctx) {
  if (ctx.get.header('x-mayfly-warmup') === undefined) calls++
  return ctx.send.text('${word} ' + calls)
}
`
}

testServer(
  '2 000 requests leave memory and file descriptors as they were',
  { 'index.ts': route('soak') },
  async (server) => {
    const run = async (count: number) => {
      for (let i = 0; i < count; i += 20) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => server.ask('/')))
        for (const answer of answers) assertEquals(answer, '200 soak 1')
      }
    }
    await run(2000)
    const before = usage()
    await run(2000)
    const after = usage()
    assert(after.rss - before.rss < 40 << 20, `grew by ${(after.rss - before.rss) >> 20} MiB`)
    assert(after.files - before.files <= 8, `${before.files} file descriptors before, ${after.files} after`)
    assert(after.maps - before.maps <= 256, `${before.maps} mappings before, ${after.maps} after`)
  },
)

testServer('a tab in Host, and whatever else a client writes, ends no field of the request', {
  'index.ts': `export const isolated = true
export const GET = (ctx) => ctx.send.json([ctx.get.pathname(), ctx.get.query(), ctx.get.header('x-a'), ctx.get.url()])
`,
}, async ({ origin }) => {
  const { hostname, port } = new URL(origin)
  const ask = async (host: string) => {
    const connection = await Deno.connect({ hostname, port: Number(port) })
    const request = `GET /?a=b HTTP/1.1\r\nHost: ${host}\r\nx-a: c\td\r\nConnection: close\r\n\r\n`
    await connection.write(new TextEncoder().encode(request))
    // Without an end the answer is what came by then.
    const deadline = setTimeout(() => connection.close(), DEADLINE_MS)
    const answer = await new Response(connection.readable).text().catch(() => '')
    clearTimeout(deadline)
    const [head, body] = answer.split('\r\n\r\n')
    assertEquals(head.split('\r\n')[0], 'HTTP/1.1 200 OK', JSON.stringify(host))
    return JSON.parse(body)
  }
  for (const host of ['a', 'a\tb', '\ta\t', 'a\t9\tGET\tb\tc\t\t\t']) {
    const [path, query, header, url] = await ask(host)
    assertEquals([path, query, header, url.includes('\t')], ['/', { a: 'b' }, 'c\td', false], host)
  }
})

testServer('a saved file swaps its program without a failed request', {
  'index.ts': route('one'),
  'other.ts': route('other'),
}, async (server) => {
  assertEquals(await server.ask('/'), '200 one 1')
  assertEquals(await server.ask('/other'), '200 other 1')
  let last = '200 one 1'
  for (const word of ['two', 'three']) {
    await server.write('index.ts', route(word))
    const next = `200 ${word} 1`
    for (const answer of await server.until('/', next)) assert(answer === last || answer === next, answer)
    assertEquals(await server.ask('/other'), '200 other 1')
    last = next
  }
})

testServer('requests without a pause meet no failure while a file is saved five times', {
  'index.ts': route('v0'),
  'kept.ts': route('kept').replace('{ warmup: 5 }', '{ warmup: 5, ephemeral: false }'),
}, async (server) => {
  assertEquals(await server.ask('/'), '200 v0 1')
  let saved = 0
  let done = false
  const faults: string[] = []
  const client = async (path: string, check: (answer: string) => boolean) => {
    while (!done) {
      const answer = await server.ask(path)
      if (!check(answer)) faults.push(`${answer} after save ${saved}`)
    }
  }
  /** No client sees an older version after a newer one. */
  const versions = () => {
    let last = 0
    return (answer: string) => {
      const version = Number(/^200 v(\d) 1$/.exec(answer)?.[1] ?? NaN)
      const fine = version >= last && version <= saved
      last = version
      return fine
    }
  }
  const clients = [
    ...Array.from({ length: 3 }, () => client('/', versions())),
    client('/kept', (answer) => /^200 kept \d+$/.test(answer)),
  ]
  try {
    while (saved < 5) {
      await server.write('index.ts', route(`v${++saved}`))
      await server.until('/', `200 v${saved} 1`)
    }
  } finally {
    done = true
    await Promise.all(clients)
  }
  assertEquals(faults, [])
})

testServer('a broken save keeps the last good version, and its repair is taken', {
  'index.ts': route('good'),
}, async (server) => {
  assertEquals(await server.ask('/'), '200 good 1')
  await server.write('index.ts', route('bad') + '\nconst = 5')
  const end = performance.now() + DEADLINE_MS
  while (!server.events.some(({ kind }) => kind === 'reload:error')) {
    assert(performance.now() < end, 'no reload:error came')
    assertEquals(await server.ask('/'), '200 good 1')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await server.write('index.ts', route('mended'))
  for (const answer of await server.until('/', '200 mended 1')) {
    assert(answer === '200 good 1' || answer === '200 mended 1', answer)
  }
})

testServer(
  'routes come and go, and may become isolated or plain',
  { 'index.ts': route('first') },
  async (server) => {
    assertEquals(await server.ask('/'), '200 first 1')
    await server.write('added.ts', route('added'))
    await server.until('/added', '200 added 1')
    await server.write('index.ts', `export const GET = (ctx) => ctx.send.text('plain')\n`)
    await server.until('/', '200 plain')
    await server.write('index.ts', route('isolated'))
    await server.until('/', '200 isolated 1')
    await server.remove('added.ts')
    const end = performance.now() + DEADLINE_MS
    while (!(await server.ask('/added')).startsWith('404')) assert(performance.now() < end, 'still there')
    assertEquals(await server.ask('/'), '200 isolated 1')
  },
)

interface Usage {
  readonly rss: number
  readonly files: number
  readonly maps: number
}

/** What the process holds. */
function usage(): Usage {
  return {
    rss: Deno.memoryUsage().rss,
    files: [...Deno.readDirSync('/proc/self/fd')].length,
    maps: Deno.readTextFileSync('/proc/self/maps').split('\n').length,
  }
}
