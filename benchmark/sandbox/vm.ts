/**
 * The VM time of a program of `get` that is warm, beside that of an isolated route of the same text: run and reset, in turns, in a process
 * of their own. Every answer is checked. Arguments: runtime, turns, milliseconds of a turn. Prints a list of {@link VmTurn} as JSON.
 */
import { type IsolateRuntime, type LifecycleEvent, Router } from '@mayfly/mayfly'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { join } from '@std/path'
import { median } from '../statistics.ts'
import { FIRST_NUMBER, ORDER, toAnswer, toFetchSource } from './program.ts'

/** Medians of a turn in microseconds. */
export interface VmTurn {
  readonly routeUs: number
  readonly getUs: number
}

/** What answers requests in machines. */
interface Side {
  ask(request: Request): Promise<Response>
  /** VM times since the last look. */
  take(): number[]
  close(): Promise<void>
}

/** Longest time until a program is warm. */
const WARM_MS = 60_000
/** Longest request: a host that is busy must not end a measurement. */
const SLOW_MS = 20_000
const BODY = JSON.stringify(ORDER)

/** A route like the program, warmed up with its own request. */
async function openRoute(runtime: IsolateRuntime): Promise<Side> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: 'mayfly-sandbox-' }))
  const isolated = {
    runtime,
    timeoutMs: SLOW_MS,
    warmup: [{
      method: 'POST',
      path: '/total',
      headers: { 'content-type': 'application/json' },
      body: ORDER,
    }],
  }
  const text = `export const isolated = ${JSON.stringify(isolated)}\n${toFetchSource(FIRST_NUMBER)}`
  await Deno.writeTextFile(join(folder, 'total.js'), text)
  const router = new Router({ routesDir: folder, hotReload: false, isolate: { vms: 1 } })
  const close = async () => {
    await router.close()
    await Deno.remove(folder, { recursive: true })
  }
  const times = keepTimes((listener) => void router.on('isolate:complete', listener))
  const side: Side = { ask: router.fetch, take: times, close }
  let isWarm = false
  router.on('isolate:ready', ({ metadata }) => {
    isWarm ||= metadata.warm !== false
  })
  try {
    await router.ready()
    await askUntil(side, () => isWarm, 'route')
    return side
  } catch (error) {
    await close()
    throw error
  }
}

/** The program by name, once it has a snapshot of its own. */
async function openGet(runtime: IsolateRuntime): Promise<Side> {
  const sandbox = await Sandbox.open({ runtime, vms: 1, limits: { timeoutMs: SLOW_MS } })
  const times = keepTimes((listener) => void sandbox.on('sandbox:complete', listener))
  const program = sandbox.get('total', {
    mainModule: 'main.js',
    modules: { 'main.js': toFetchSource(FIRST_NUMBER) },
  })
  const side: Side = { ask: (request) => program.fetch(request), take: times, close: () => sandbox.close() }
  try {
    await askUntil(side, () => sandbox.stats().programs.some(({ warm }) => warm), 'program')
    return side
  } catch (error) {
    await sandbox.close()
    throw error
  }
}

async function askUntil(side: Side, isWarm: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + WARM_MS; !isWarm();) {
    if (performance.now() > end) {
      throw new Error(`Cannot measure VM times: the ${what} is not warm after ${WARM_MS} ms`)
    }
    await ask(side)
  }
}

function keepTimes(subscribe: (listener: (event: LifecycleEvent) => void) => void): () => number[] {
  let times: number[] = []
  subscribe(({ metadata }) => {
    const { runMicros = 0, resetMicros = 0 } = metadata as { runMicros?: number; resetMicros?: number }
    times.push(runMicros + resetMicros)
  })
  return () => {
    const taken = times
    times = []
    return taken
  }
}

async function ask(side: Side): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await side.ask(
    new Request('http://localhost/total', { method: 'POST', headers, body: BODY }),
  )
  const text = await response.text()
  if (response.status === 200 && text === toAnswer(FIRST_NUMBER)) return
  throw new Error(`Cannot measure VM times: status ${response.status} with ${text}, want the total`)
}

/** Asks one after the other; the median VM time. */
async function turn(side: Side, ms: number): Promise<number> {
  side.take()
  for (const end = performance.now() + ms; performance.now() < end;) await ask(side)
  const middle = median(side.take())
  if (middle === undefined) throw new Error('Cannot measure VM times: no request was told of')
  return middle
}

async function measure(runtime: IsolateRuntime, turns: number, ms: number): Promise<VmTurn[]> {
  const route = await openRoute(runtime)
  try {
    const get = await openGet(runtime)
    try {
      const found: VmTurn[] = []
      // The first turn fills caches.
      for (let index = -1; index < turns; index++) {
        const routeUs = await turn(route, ms)
        const getUs = await turn(get, ms)
        if (index !== -1) found.push({ routeUs, getUs })
      }
      return found
    } finally {
      await get.close()
    }
  } finally {
    await route.close()
  }
}

if (import.meta.main) {
  const [runtime, turns, ms] = Deno.args
  console.log(JSON.stringify(await measure(runtime as IsolateRuntime, Number(turns), Number(ms))))
  Deno.exit(0)
}
