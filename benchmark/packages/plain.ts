/**
 * A plain handler of `tests/packages` in a process of its own, called in a loop with the inputs of those indices: it warms up, and answers each line of standard input
 * (how many milliseconds to measure) with a line of {@link PlainTimes}. Runs under the packages' `deno.json`.
 *
 * A call is what a machine does for a request too: the context, the handler, and the bytes of its answer.
 */
import { applyPending } from '../../src/context/headers.ts'
import type { Handler } from '../../src/context/types.ts'
import { type Input, toRequest } from '../../tests/packages/input.ts'
import { importHandler } from '../../tests/packages/sites.ts'
import { median } from '../statistics.ts'
import { createHost, toContext } from './context.ts'

/** For each input the median of a call in microseconds, and the answer. */
export interface PlainTimes {
  readonly micros: readonly number[]
  /** Status and base64 of the body. */
  readonly answers: readonly string[]
}

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

async function measure(
  name: string,
  calls: readonly Call[],
  inputs: readonly Input[],
  ms: number,
): Promise<PlainTimes> {
  const times = inputs.map((): number[] => [])
  const answers = inputs.map(() => '')
  for (const end = performance.now() + ms; performance.now() < end;) {
    for (const [index, input] of inputs.entries()) {
      const request = toRequest(name, input)
      const begin = performance.now()
      const response = await calls[index](request)
      const body = await response.bytes()
      times[index].push((performance.now() - begin) * 1000)
      answers[index] = `${response.status} ${body.toBase64()}`
    }
  }
  return { micros: times.map((list) => median(list)!), answers }
}

if (import.meta.main) {
  const [name, chosen] = Deno.args
  const module = await importHandler(name)
  const inputs = chosen.split(',').map((index) => (module.inputs as readonly Input[])[Number(index)])
  const calls = inputs.map((input) => toCall(module, toRequest(name, input).method))
  const print = async (ms: number) => console.log(JSON.stringify(await measure(name, calls, inputs, ms)))
  await print(WARM_UP_MS)
  const decoder = new TextDecoder()
  for await (const chunk of Deno.stdin.readable) await print(Number(decoder.decode(chunk)))
  Deno.exit(0)
}
