/**
 * From a planned program to a snapshot that is warm.
 *
 * ```text
 * load -> describe -> first runs -> renew -> warm-up -> renew -> snapshot -> trial runs in a fork
 *   ^                                                                            |
 *   +---- once more with a longer warm-up <-- unsettled -------------------------+
 * ```
 */
import { toLoadSpec } from './base.ts'
import { BootError } from './ffi/errors.ts'
import type { NativeLibrary } from './ffi/library.ts'
import { NativeProgram, type Trial } from './ffi/native_program.ts'
import type { WarmupFrame } from './ffi/spec.ts'
import type { DescribeHead, RenewHead } from './message.ts'
import type { Program } from './program.ts'
import { createSeed, encodeControl } from './request_frame.ts'
import type { Warmup } from './warmup.ts'

/** A program that can run, and how warm it is. */
export interface WarmProgram {
  readonly native: NativeProgram
  /** Milliseconds, trials and second boots included. */
  readonly bootMs: number
  /** Whether its requests run in a fork as they did at the end of the warm-up. */
  readonly settled: boolean
}

/** What the first runs of a handler may take beyond its own limit: they are cold. */
const COLD_MS = 1000
/** CPU time for the warm-up of one handler, and of all of them: a neighbour on the core must not shorten it. */
const HANDLER_MS = 500
const WARMUP_MS = 20_000
/** Runs of each frame before the modules are renewed for the first time. */
const EARLY_RUNS = 4
/** Runs of each frame where nothing gets quicker by running: they find what is set up at first use, and leave little garbage. */
const INTERPRETED_RUNS = 2
/** How many times longer the second warm-up is. */
const LONGER = 3
/** A run in a fork is as warm as before within this factor, and this many microseconds for what a fork costs. */
const SETTLED_FACTOR = 1.5
const SETTLED_US = 60

/**
 * Loads a program into its base. A handler that ends it in its warm-up, or does not come to an end, starts cold and is told of on standard error.
 * Rejects with `BootError`, `IsolationUnavailableError` or `NativeError`.
 */
export async function bootWarm(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
): Promise<WarmProgram> {
  const begin = performance.now()
  const first = await bootSurvivors(library, base, plan, plan.warmup, 1)
  let { native } = first
  if (!isSettled(native)) {
    await native.close()
    native = (await bootSurvivors(library, base, plan, first.warmup, LONGER)).native
  }
  return { native, bootMs: performance.now() - begin, settled: isSettled(native) }
}

/** Boots, each time without the handler at fault; gives the warm-up that was left. */
async function bootSurvivors(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  given: readonly Warmup[],
  times: number,
): Promise<{ native: NativeProgram; warmup: readonly Warmup[] }> {
  let warmup = given
  for (;;) {
    const steps = toSteps(plan, warmup, times)
    try {
      const spec = {
        ...toLoadSpec(plan, base),
        warmup: steps.map(({ frame }) => frame),
        // What a warm-up leaves in memory; without one that costs more than it gives.
        ...(warmup.length === 0 ? {} : { last: encodeControl({ control: 'settle' }) }),
      }
      return { native: await NativeProgram.boot(library, spec), warmup }
    } catch (error) {
      if (!(error instanceof BootError) || error.entry === null || warmup.length === 0) throw error
      // What is of no handler renews the program: that fails for all of them.
      const { handler } = steps[error.entry]
      const name = handler === null ? 'all its handlers' : nameHandler(plan, handler)
      console.error(
        `mayfly: the warm-up of ${name} failed, it starts without (\`warmup: 0\` says so in its file): ${error.message}`,
      )
      warmup = handler === null ? [] : warmup.filter((entry) => entry.handler !== handler)
    }
  }
}

function nameHandler(plan: Program, index: number): string {
  const { route, method } = plan.handlers[index]
  return method === null ? route.file : `${method} ${route.file}`
}

/** One frame of the warm-up, and whose it is; null for the program's own. */
interface Step {
  readonly handler: number | null
  readonly frame: WarmupFrame
}

/**
 * The whole warm-up. The modules are renewed once early: code that V8 optimises while there is one instance of a closure only is
 * bound to that one, and would be compiled anew in every request after the renewal at the end. Apps get some requests after
 * that: frameworks build their routers when the first one comes (seen with Hono: 5 ms in every request).
 */
function toSteps(plan: Program, warmup: readonly Warmup[], times: number): Step[] {
  const describe = toControl({ control: 'describe' }, 0, true)
  if (warmup.length === 0) return [describe]
  const handlers = Map.groupBy(warmup, ({ handler }) => handler)
  const timeoutMs = plan.options.timeoutMs + COLD_MS
  const toStep = (entry: Warmup, runs: number, group: number, rehearse: boolean): Step => {
    const { handler, frame } = entry
    const handlerMs = times * Math.min(HANDLER_MS, WARMUP_MS / handlers.size)
    const budgetMs = Math.ceil(handlerMs / handlers.get(handler)!.length)
    return { handler, frame: { frame, runs, group, rehearse, timeoutMs, budgetMs } }
  }
  const isFirst = (entry: Warmup) => entry === handlers.get(entry.handler)![0]
  const isCompiled = plan.options.runtime === 'deno'
  const countOf = ({ count }: Warmup) => isCompiled ? count : Math.min(count, INTERPRETED_RUNS)
  const isApp = ({ handler }: Warmup) => plan.handlers[handler].method === null
  // Where nothing is optimised there is nothing to be bound to an instance.
  const early = [
    ...warmup.map((entry) => toStep(entry, Math.min(entry.count, EARLY_RUNS), 2, false)),
    toControl({ control: 'renew', seed: createSeed() }, 3),
  ]
  return [
    describe,
    ...(isCompiled ? early : []),
    ...warmup.map((entry) => toStep(entry, countOf(entry) * times, 4, isFirst(entry))),
    toControl({ control: 'renew', seed: createSeed() }, 5),
    ...warmup.filter(isApp).map((entry) => toStep(entry, 1, 6, false)),
  ]
}

function toControl(head: DescribeHead | RenewHead, group: number, tell = false): Step {
  return { handler: null, frame: { frame: encodeControl(head), runs: 1, group, tell } }
}

function isSettled({ report }: NativeProgram): boolean {
  return report.trials.every(isWarm)
}

/** Whether a fork does nothing that the warm-up had done already. */
export function isWarm({ warmUs, runUs }: Pick<Trial, 'warmUs' | 'runUs'>): boolean {
  return runUs <= warmUs * SETTLED_FACTOR + SETTLED_US
}
