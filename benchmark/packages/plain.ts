/**
 * A plain handler of `tests/packages` in a process of its own, called in a loop with the inputs of those indices: it warms up, and answers each line of standard input
 * (how many milliseconds of CPU time to measure) with a line of {@link PlainTimes}. Runs under the packages' `deno.json`.
 *
 * A call is what a machine does for a request too: the context, the handler, and the bytes of its answer.
 */
import { applyPending } from '../../src/context/headers.ts'
import type { Handler } from '../../src/context/types.ts'
import { type Input, toRequest } from '../../tests/packages/input.ts'
import { importHandler } from '../../tests/packages/sites.ts'
import { median } from '../statistics.ts'
import { createHost, toContext } from './context.ts'
import { threadMicros } from './cpu_clock.ts'

/** A handler that does nothing, as the text of a route. */
export const EMPTY_HANDLER = `export const GET = (ctx) => ctx.send.text('')`

/** For each input the median of a call in microseconds of CPU time, and the answer. */
export interface PlainTimes {
  readonly micros: readonly number[]
  /** Of a handler that does nothing. */
  readonly emptyMicros: number
  /** Status and base64 of the body. */
  readonly answers: readonly string[]
}

/** Part of a turn that measures the handler that does nothing. */
export const EMPTY_PART = 5
/** Milliseconds of CPU time: on a busy machine the clock would end a warm-up of a few calls. */
const WARM_UP_MS = 2000

type Call = (request: Request) => Response | Promise<Response>

/** What a route file exports as a function of a request. */
function toCall(module: Readonly<Record<string, unknown>>, method: string): Call {
  const app = module.default as { fetch: Call } | undefined
  if (app !== undefined) return (request) => app.fetch(request)
  const handler = module[method] as Handler
  const host = createHost()
  return async (request) => {
    const ctx = toContext(host, request)
    const response = await handler(ctx)
    applyPending(ctx, response.headers, false)
    return response
  }
}

/** A call with an input, again and again. */
interface Subject {
  readonly name: string
  readonly input: Input
  readonly call: Call
}

async function measure(subjects: readonly Subject[], ms: number): Promise<Omit<PlainTimes, 'emptyMicros'>> {
  const times = subjects.map((): number[] => [])
  const answers = subjects.map(() => '')
  const end = threadMicros() + ms * 1000
  // One that waits uses little of a CPU.
  const latest = performance.now() + 20 * ms
  while (threadMicros() < end && performance.now() < latest) {
    for (const [index, { name, input, call }] of subjects.entries()) {
      const request = toRequest(name, input)
      const begin = threadMicros()
      const response = await call(request)
      const body = await response.bytes()
      times[index].push(threadMicros() - begin)
      answers[index] = `${response.status} ${body.toBase64()}`
    }
  }
  return { micros: times.map((list) => median(list)!), answers }
}

if (import.meta.main) {
  const [name, chosen] = Deno.args
  const module = await importHandler(name)
  const subjects = chosen.split(',').map((index): Subject => {
    const input = (module.inputs as readonly Input[])[Number(index)]
    return { name, input, call: toCall(module, toRequest(name, input).method) }
  })
  const empty = await import(`data:text/javascript,${encodeURIComponent(EMPTY_HANDLER)}`)
  const nothing = [{ name: 'empty', input: {}, call: toCall(empty, 'GET') }]
  const print = async (ms: number) => {
    const times = await measure(subjects, ms)
    const { micros: [emptyMicros] } = await measure(nothing, ms / EMPTY_PART)
    console.log(JSON.stringify({ ...times, emptyMicros } satisfies PlainTimes))
  }
  await print(WARM_UP_MS)
  const decoder = new TextDecoder()
  for await (const chunk of Deno.stdin.readable) await print(Number(decoder.decode(chunk)))
  Deno.exit(0)
}
