/**
 * What a promotion costs the requests beside it: a program that is warm is asked while another one, as busy, is promoted, and in turns
 * while that one has its snapshot already. Every answer is checked. Arguments: runtime, turns. Prints a list of {@link PromotionTurn} as
 * JSON.
 */
import type { IsolateRuntime } from '@mayfly/mayfly'
import { Sandbox, type SandboxWorker } from '@mayfly/mayfly/sandbox'
import { threadMicros } from '../packages/cpu_clock.ts'
import { FIRST_NUMBER, ORDER, toAnswer, toFetchSource } from './program.ts'

/** Latencies of the calls of both programs, in milliseconds. */
export interface PromotionSide {
  readonly p50: number
  readonly p99: number
  readonly most: number
  /** The longest of them by the clock of the host's thread: what else the machine does is not in it. */
  readonly cpuMost: number
  readonly calls: number
}

/** A time without a promotion, and one with it. */
export interface PromotionTurn {
  readonly quiet: PromotionSide
  readonly promoting: PromotionSide
  /** Milliseconds until the program was promoted. */
  readonly bootMs: number
  /** Calls without the right answer. */
  readonly failures: number
}

/** A time without a promotion takes as long as the last one with it, and at least so many milliseconds. */
const LEAST_MS = 1000
/** Longest time until a program is promoted. */
const LONGEST_MS = 60_000
/** A host that is busy must not end a measurement. */
const SLOW_MS = 20_000
const PAUSE_MS = 2
const BODY = JSON.stringify(ORDER)

/** One call: by the clock on the wall, and that of the thread which calls. */
interface CallTime {
  readonly ms: number
  readonly cpuMs: number
}

class Pair {
  readonly #sandbox: Sandbox
  readonly #promoted = new Map<string, number>()
  #failures = 0

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
    sandbox.on('sandbox:ready', ({ metadata }) => {
      const { name, bootMs } = metadata as { name: string; bootMs: number }
      this.#promoted.set(name, bootMs)
    })
  }

  takeFailures(): number {
    const failures = this.#failures
    this.#failures = 0
    return failures
  }

  /** Milliseconds that the promotion of a program took; undefined before. */
  bootMs(name: string): number | undefined {
    return this.#promoted.get(name)
  }

  /** Asks both until `isOver`, each again as soon as it was answered and a pause is over. */
  async ask(names: readonly string[], isOver: () => boolean): Promise<CallTime[]> {
    const times: CallTime[] = []
    await Promise.all(names.map(async (name, index) => {
      const number = FIRST_NUMBER + index
      const modules = { 'main.js': toFetchSource(number) }
      const program = this.#sandbox.get(name, { mainModule: 'main.js', modules })
      while (!isOver()) {
        const begin = performance.now()
        const cpuBegin = threadMicros()
        if (!await isRight(program, number)) this.#failures++
        times.push({ ms: performance.now() - begin, cpuMs: (threadMicros() - cpuBegin) / 1000 })
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
    }))
    return times
  }
}

async function isRight(program: SandboxWorker, number: number): Promise<boolean> {
  const headers = { 'content-type': 'application/json' }
  try {
    const response = await program.fetch('http://localhost/total', { method: 'POST', headers, body: BODY })
    return response.status === 200 && await response.text() === toAnswer(number)
  } catch {
    return false
  }
}

function toSide(times: readonly CallTime[]): PromotionSide {
  const sorted = times.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return {
    p50: sorted[Math.floor(sorted.length * 0.5)]!,
    p99: sorted[Math.floor(sorted.length * 0.99)]!,
    most: sorted.at(-1)!,
    cpuMost: times.reduce((most, { cpuMs }) => Math.max(most, cpuMs), 0),
    calls: sorted.length,
  }
}

async function measure(runtime: IsolateRuntime, turns: number): Promise<PromotionTurn[]> {
  await using sandbox = await Sandbox.open({ runtime, vms: 2, limits: { timeoutMs: SLOW_MS } })
  const pair = new Pair(sandbox)
  const until = async (name: string) => {
    const begin = performance.now()
    const times = await pair.ask(['steady', name], () => {
      const time = performance.now() - begin
      if (time > LONGEST_MS) {
        throw new Error(`Cannot measure promotions: ${name} is not promoted after ${LONGEST_MS} ms`)
      }
      // The first calls behind it count: they meet machines that are new.
      return time > LEAST_MS && [name, 'steady'].every((each) => pair.bootMs(each) !== undefined)
    })
    return { times, ms: performance.now() - begin }
  }
  let { ms } = await until('first')
  const found: PromotionTurn[] = []
  for (let turn = 0; turn < turns; turn++) {
    pair.takeFailures()
    const end = performance.now() + ms
    const quiet = await pair.ask(
      ['steady', turn === 0 ? 'first' : `turn ${turn - 1}`],
      () => performance.now() > end,
    )
    const promoting = await until(`turn ${turn}`)
    ms = promoting.ms
    found.push({
      quiet: toSide(quiet),
      promoting: toSide(promoting.times),
      bootMs: pair.bootMs(`turn ${turn}`)!,
      failures: pair.takeFailures(),
    })
  }
  return found
}

if (import.meta.main) {
  const [runtime, turns] = Deno.args
  console.log(JSON.stringify(await measure(runtime as IsolateRuntime, Number(turns))))
  Deno.exit(0)
}
