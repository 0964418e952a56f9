/** Requests a second over HTTP, on two workers: a kept program beside one that is reset, and a key of SQLite read by a program and by the host. */
import { fromFileUrl } from '@std/path'
import type { Load } from '../load.ts'
import { median } from '../statistics.ts'
import { kv, SqliteStore } from '../../src/reach/mod.ts'
import { Sandbox } from '../../src/sandbox/mod.ts'

const CONNECTIONS = 32
const SECONDS = 2
const ROUNDS = 3
const PROGRAM = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url)
    return new Response(pathname === '/hello' ? 'Hello World!' : await env.DB.get('key'))
  },
}`
const COUNTER =
  'let count = 33436183\nexport default { fetch: () => new Response(`Hello ${++count} World!`) }'

/** Measures and prints with `say`; false where an answer is wrong. */
export async function measureThroughput(say: (text: string) => void): Promise<boolean> {
  const folder = await Deno.makeTempDir()
  using store = new SqliteStore(`${folder}/bench.sqlite`)
  const db = kv('bench/', { store })
  await db.set('key', 'value')
  await using sandbox = await Sandbox.open({ vms: 2, queue: 4096, limits: { timeoutMs: 30_000 } })
  const modules = { 'main.js': PROGRAM }
  const program = sandbox.get('program', { mainModule: 'main.js', modules, env: { DB: db } })
  const counter = sandbox.get('counter', { mainModule: 'main.js', modules: { 'main.js': COUNTER } }, {
    ephemeral: false,
  })
  const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/outside') return new Response(await db.get('key') as string)
    return await (pathname === '/counter' ? counter : program).fetch(request)
  })
  const origin = `http://127.0.0.1:${server.addr.port}`
  try {
    const isWarm = () => sandbox.stats().programs.every(({ warm }) => warm)
    for (let calls = 0; calls < 2000 && !(calls > 20 && isWarm()); calls++) {
      for (const path of ['/hello', '/get']) await (await fetch(origin + path)).text()
    }
    if (!isWarm()) throw new Error('Cannot measure: the program got no snapshot, want one')
    const taken = new Map(['hello', 'counter', 'get', 'outside'].map((name) => [name, [] as number[]]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, rates] of taken) {
        const { requestsPerSecond, failures } = await load(`${origin}/${name}`)
        if (failures > 0) {
          console.error(`${name}: ${failures} requests without an answer`)
          return false
        }
        rates.push(requestsPerSecond)
      }
    }
    const rate = (name: string) => median(taken.get(name)!)!
    const line = (what: string, name: string, other: string) =>
      say(`| ${what} | ${rate(name).toFixed(0)} | ${(rate(name) / rate(other)).toFixed(2)} |`)
    say(
      `\nRequests a second over HTTP, ${CONNECTIONS} connections, two workers, load ${
        Deno.loadavg()[0]!.toFixed(1)
      }:\n`,
    )
    say('| way | a second | ratio |\n| --- | --: | --: |')
    line('hello, reset after each', 'hello', 'hello')
    line('counter, kept; to hello', 'counter', 'hello')
    line('kv get by a program; to the host', 'get', 'outside')
    line('kv get by the host', 'outside', 'outside')
    return true
  } finally {
    await server.shutdown()
    await Deno.remove(folder, { recursive: true })
  }
}

/** Runs the load in a process of its own. */
async function load(url: string): Promise<Load> {
  const file = fromFileUrl(new URL('../load.ts', import.meta.url))
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-check', file, url, '1', `${SECONDS}`, `${CONNECTIONS}`, '1'],
  }).output()
  const decoder = new TextDecoder()
  if (!success) throw new Error(`Cannot measure ${url}: ${decoder.decode(stderr)}`)
  return JSON.parse(decoder.decode(stdout))
}
