/** Server-sent events to five hundred clients over sockets, of one program on two workers: whether one misses any, and what each keeps. */
import { ownKib } from './memory.ts'
import { Sandbox } from '../../src/sandbox/mod.ts'

const CLIENTS = 500
const EVENTS = 30
const EVERY_MS = 500
const PROGRAM = `
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
const encoder = new TextEncoder()
export default { fetch(request) {
  const last = Number(new URL(request.url).searchParams.get('n')) - 1
  let id = 0
  return new Response(new ReadableStream({
    async pull(controller) {
      if (id > 0) await pause(${EVERY_MS})
      controller.enqueue(encoder.encode('id: ' + id + '\\ndata: ' + Date.now() + '\\n\\n'))
      if (id++ === last) controller.close()
    },
  }, { highWaterMark: 0 }), { headers: { 'content-type': 'text/event-stream' } })
} }`

/** Measures and prints with `say`; false where an event is missing or out of its order. */
export async function measureEvents(say: (text: string) => void): Promise<boolean> {
  await using sandbox = await Sandbox.open({
    vms: 2,
    queue: 4096,
    parked: { each: CLIENTS, all: CLIENTS },
    limits: { timeoutMs: 60_000 },
  })
  const worker = sandbox.get('events', { mainModule: 'main.js', modules: { 'main.js': PROGRAM } })
  const server = Deno.serve(
    { port: 0, hostname: '127.0.0.1', onListen() {} },
    (request) => worker.fetch(request),
  )
  try {
    const url = `http://127.0.0.1:${server.addr.port}/?n=`
    // Until it has a snapshot of its own.
    const isWarm = () => sandbox.stats().programs.every(({ warm }) => warm)
    for (let calls = 0; calls < 2000 && !(calls > 10 && isWarm()); calls++) {
      await (await fetch(`${url}1`)).body!.pipeTo(new WritableStream())
    }
    if (!isWarm() || !await hasAll(`${url}${EVENTS}`, () => {})) return false
    const before = ownKib()
    // Of the process when the last client had so many events: its clients are in it too.
    const memory = new Map<number, number>()
    const third = Math.floor(EVENTS / 3)
    const isLooked = (id: number) => id === third || id === EVENTS - 1
    const counts = new Array<number>(EVENTS).fill(0)
    const begin = performance.now()
    const right = await Promise.all(
      Array.from(
        { length: CLIENTS },
        () =>
          hasAll(
            `${url}${EVENTS}`,
            (id) => ++counts[id]! === CLIENTS && isLooked(id) && memory.set(id, ownKib()),
          ),
      ),
    )
    const took = performance.now() - begin
    const kib = (id: number) => ((memory.get(id)! - before) / CLIENTS).toFixed(0)
    const missed = right.filter((all) => !all).length
    say(`\n${EVENTS} events every ${EVERY_MS} ms to ${CLIENTS} clients, two workers:`)
    say(`- clients that missed one: ${missed}`)
    say(`- in all ${took.toFixed(0)} ms, of which ${(EVENTS - 1) * EVERY_MS} are waits`)
    if (missed === 0) {
      say(
        `- memory for each, client and machine: ${kib(third)} KiB of the process after ${third} events, ${
          kib(EVENTS - 1)
        } after ${EVENTS}`,
      )
    }
    return missed === 0
  } finally {
    await server.shutdown()
  }
}

/** Whether a client gets all events in their order. `seen` is called with each. */
async function hasAll(url: string, seen: (id: number) => void): Promise<boolean> {
  const response = await fetch(url)
  if (response.status !== 200) {
    await response.body?.cancel()
    return false
  }
  let [rest, next] = ['', 0]
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n')
    rest = events.pop()!
    for (const event of events) {
      if (!event.startsWith(`id: ${next}\n`)) return false
      seen(next++)
    }
  }
  return next === EVENTS && rest === ''
}
