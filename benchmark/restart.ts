/**
 * How long the example site takes to its first isolated answer when it starts again, with `isolate.cacheDir` and without, in turn:
 * `deno run -A benchmark/restart.ts ROUNDS`. A round starts each of both in a process of its own, asks one of the routes again and again,
 * and ends the process. Times by the clock hang on what else runs; the CPU time of the process and its children does not.
 */
import { fromFileUrl } from '@std/path'
import { buildLibrary } from '../src/isolate/ffi/build/build.ts'
import { median } from './statistics.ts'

const ROUTES = ['/isolated/random', '/isolated/counter', '/isolated/limits']
/** Milliseconds that the first start with a folder has to fill it. */
const FILL_MS = 30_000
/** Clock ticks of a second, as Linux tells CPU times. */
const TICKS = 100

/** Milliseconds of one start. */
interface Start {
  /** From the spawn of the process to its listener. */
  readonly listening: number
  /** From there to the first answer. */
  readonly answer: number
  /** CPU time from the listener to the answer: of the process and its children. */
  readonly cpu: number
}

/** Starts the site, asks, and ends it after `lingerMs` more. */
async function start(route: string, cacheDir: string, lingerMs = 0): Promise<Start> {
  const listener = Deno.listen({ port: 0, hostname: '127.0.0.1' })
  const { port } = listener.addr
  listener.close()
  const begin = performance.now()
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', fromFileUrl(new URL('../routes/_site.ts', import.meta.url))],
    env: { PORT: String(port), SITE_CACHE: cacheDir },
    stdout: 'null',
    stderr: 'null',
  }).spawn()
  try {
    let listening = 0
    let cpuBefore = 0
    for (;;) {
      // A connection that waits for its answer ends with it, as a client's does.
      const response = await fetch(`http://127.0.0.1:${port}${route}`).catch(() => null)
      if (response === null) {
        await new Promise((done) => setTimeout(done, 1))
        listening = performance.now() - begin
        cpuBefore = await cpuMs(child.pid)
        continue
      }
      await response.body?.cancel()
      if (response.status !== 200) throw new Error(`${route} answers ${response.status}, want 200`)
      const answer = performance.now() - begin - listening
      const cpu = await cpuMs(child.pid) - cpuBefore
      await new Promise((done) => setTimeout(done, lingerMs))
      return { listening, answer, cpu }
    }
  } finally {
    child.kill('SIGKILL')
    await child.status
  }
}

/** Milliseconds of CPU time that a process and its children took. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * 1000 / TICKS
  const children = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => '')
  const pids = children.split(' ').filter((text) => text !== '').map(Number)
  return own + (await Promise.all(pids.map(cpuMs))).reduce((sum, ms) => sum + ms, 0)
}

function show(name: string, starts: readonly Start[]): void {
  const of = (of: (start: Start) => number) => {
    const values = starts.map(of).toSorted((a, b) => a - b)
    return `${Math.round(median(values)!)} (${Math.round(values[0]!)} to ${Math.round(values.at(-1)!)})`
  }
  console.log(
    `${name}: ${of(({ listening }) => listening)} ms to the listener, ${
      of(({ answer }) => answer)
    } ms from there to the ` +
      `first isolated answer, which take ${of(({ cpu }) => cpu)} ms of CPU time`,
  )
}

if (import.meta.main) {
  const rounds = Number(Deno.args[0] ?? 5)
  await buildLibrary()
  const folder = await Deno.makeTempDir()
  try {
    await start(ROUTES[0]!, folder, FILL_MS)
    const [without, cached]: [Start[], Start[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const route = ROUTES[round % ROUTES.length]!
      without.push(await start(route, ''))
      cached.push(await start(route, folder))
    }
    console.log(`${rounds} rounds, medians (least to most); load ${Deno.loadavg()[0]!.toFixed(1)}`)
    show('without', without)
    show('cacheDir', cached)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}
