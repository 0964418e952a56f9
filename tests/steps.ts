/** Counts the work of a call without a clock: how often V8 runs each block of JavaScript, Deno's own included. */
import { Session } from 'node:inspector'

/** Counts from when it is opened; functions that ran before that count as one step a call. */
export interface StepCounter {
  /** Steps of each run, one after the other. What natives do, such as regular expressions and `indexOf`, is one step. */
  count(runs: readonly (() => unknown)[]): Promise<number[]>
  close(): void
}

/** Opens a counter; one for a test file, before anything else of it runs. */
export async function openStepCounter(): Promise<StepCounter> {
  const session = new Session()
  session.connect()
  const post = (method: string, params: object = {}) =>
    new Promise<unknown>((resolve, reject) =>
      session.post(
        method,
        params,
        (error: unknown, result: unknown) => error ? reject(error) : resolve(result),
      )
    )
  await post('Profiler.enable')
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return {
    async count(runs) {
      const counts: number[] = []
      for (const run of runs) {
        await post('Profiler.takePreciseCoverage')
        await run()
        counts.push(sum(await post('Profiler.takePreciseCoverage') as Coverage))
      }
      return counts
    },
    close: () => session.disconnect(),
  }
}

interface Coverage {
  readonly result: readonly {
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

function sum({ result }: Coverage): number {
  let count = 0
  for (const { functions } of result) {
    for (const { ranges } of functions) {
      for (const range of ranges) count += range.count
    }
  }
  return count
}
