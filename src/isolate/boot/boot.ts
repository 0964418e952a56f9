/**
 * From a planned program to a snapshot that is warm.
 *
 * ```text
 * load -> describe -> warm-up -> beforeSnapshot -> snapshot -> trial runs in a fork
 *   ^                 ^     |                                         |
 *   |                 +-----+ while requests become faster            |
 *   +--- without the requests that broke a handler, if any did -------+
 * ```
 */
import { toPrintable } from '../../errors/printable.ts'
import { toLoadSpec } from './base.ts'
import { BootError } from '../machines/errors.ts'
import { explainBroken, findBroken, nameRequest, withoutFailing, withoutRequest } from './broken_warmup.ts'
import type { NativeLibrary } from '../ffi/library.ts'
import { NativeProgram } from '../ffi/native_program.ts'
import { digestKey } from '../ffi/share_key.ts'
import type { WarmupFrame } from '../ffi/spec.ts'
import type { BeforeSnapshotHead, DescribeHead } from '../wire/message.ts'
import { nameHandler, type Program } from '../plan/program.ts'
import { createSeed, encodeControl } from '../wire/request_frame.ts'
import { decodeHookAnswer } from '../wire/response_frame.ts'
import { toHostError } from '../plan/stack.ts'
import { type HandlerTrial, isWarm } from '../machines/trial.ts'
import type { Warmup } from '../warm/warmup.ts'
import { HEADER_MAX } from '../wire/wire.ts'

/** A program that can run, and how warm it is. */
export interface WarmProgram {
  readonly native: NativeProgram
  /** Milliseconds, trials and second boots included. */
  readonly bootMs: number
  /** Whether its requests run in a fork as they did at the end of the warm-up. */
  readonly settled: boolean
  /** Whether all of its warm-up ran, and its own last word. */
  readonly whole: boolean
  /** How its handlers ran in a fork. */
  readonly trials: readonly HandlerTrial[]
  /** What its modules drew from. */
  readonly seed: string
}

/** What a request may take beyond its own limits, by the clock and of the CPU, where nothing is warm: its code is compiled yet. */
export const COLD_MS = 1000
/**
 * CPU time of a handler's warm-up until its requests are first compared, the most for one handler, and for all of them. CPU time: a
 * neighbour on the core must not shorten it.
 */
const WINDOW_MS = 250
const HANDLER_MS = 6000
const WARMUP_MS = 20_000
/** Runs of each frame where nothing gets quicker by running: they find what is set up at first use, and leave little garbage. */
const INTERPRETED_RUNS = 2

/**
 * Loads a program into its base and warms it up; its modules draw from `seed`. A handler that ends it in its warm-up, or does not come to
 * an end, starts cold, and standard error says so. Rejects with `BootError`, `IsolationUnavailableError` or `NativeError`, and with
 * `ClosedError` once `signal` has ended it. Isolates that say the same `pool` and `seed` get one snapshot.
 */
export async function bootWarm(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  seed: string = createSeed(),
  signal?: AbortSignal,
  pool = '',
): Promise<WarmProgram> {
  const begin = performance.now()
  const { native, trials, whole } = await bootSurvivors(
    library,
    base,
    plan,
    seed,
    plan.warmup,
    pool,
    signal,
  )
  return { native, bootMs: performance.now() - begin, settled: trials.every(isWarm), whole, trials, seed }
}

/** Loads a program into its base and warms nothing up; its modules draw from `seed`. Its first answer describes it. Rejects as {@link bootWarm} does. */
export async function bootCold(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  seed: string,
  pool = '',
): Promise<NativeProgram> {
  return (await bootSurvivors(library, base, withColdLimits(plan), seed, [], pool)).native
}

/** Boots, each time without the request at fault, or all of its handler's. */
async function bootSurvivors(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  seed: string,
  given: readonly Warmup[],
  pool: string,
  signal?: AbortSignal,
): Promise<Pick<WarmProgram, 'native' | 'trials' | 'whole'>> {
  let warmup = given
  // Handlers of which a request ended the program, or took too long.
  const endedBy = new Set<number>()
  for (;;) {
    const steps = toSteps(plan, warmup)
    let native: NativeProgram
    try {
      const spec = {
        ...toLoadSpec(plan, base, seed),
        warmup: steps.map(({ frame }) => frame),
        // What a warm-up leaves in memory; without one that costs more than it gives.
        ...(warmup.length === 0 ? {} : { last: encodeControl({ control: 'settle' }) }),
      }
      const key = await shareKey(pool, base, plan, warmup)
      native = await NativeProgram.boot(library, spec, signal, key)
    } catch (error) {
      if (!(error instanceof BootError) || error.entry === null || warmup.length === 0) throw error
      // What is of no handler is the hook: that fails for all of them.
      const { request } = steps[error.entry]!
      const name = request === null ? 'all its handlers' : nameHandler(plan, request.handler)
      // One that nobody would send must not cost the others; where two fail, more may, and each takes a boot.
      const isFirst = request !== null && !endedBy.has(request.handler)
      const left = isFirst ? `without ${nameRequest(request)}` : 'without (`warmup: 0` says so in its file)'
      console.error(`mayfly: the warm-up of ${name} failed, it starts ${left}: ${error.message}`)
      warmup = request === null
        ? []
        : isFirst
        ? withoutRequest(warmup, request)
        : warmup.filter(({ handler }) => handler !== request.handler)
      if (request !== null) endedBy.add(request.handler)
      continue
    }
    try {
      const left = await reviewWarmup(plan, warmup, native, steps, (requests) => {
        return findFailingCold(library, base, plan, seed, requests, signal)
      })
      if (left === warmup) {
        return { native, trials: toTrials(native, steps), whole: warmup === plan.warmup }
      }
      warmup = left
    } catch (error) {
      await native.close()
      throw error
    }
    await native.close()
  }
}

/**
 * What a program is to be warmed up with in place of a warm-up that ran: that one, if it did no harm, else less, and standard error says why.
 * `findFailingCold` is as for {@link findBroken}, and so are rejections.
 */
async function reviewWarmup(
  plan: Program,
  warmup: readonly Warmup[],
  native: NativeProgram,
  steps: readonly Step[],
  findFailingCold: (requests: readonly Warmup[]) => Promise<ReadonlySet<Warmup>>,
): Promise<readonly Warmup[]> {
  if (warmup.length === 0) return warmup
  const failed = failedHook(plan, native, steps.length - 1)
  if (failed !== undefined) {
    console.error(
      `mayfly: ${failed}; it starts without a warm-up, as its program could keep what the warm-up left`,
    )
    return []
  }
  const broken = await findBroken(plan, warmup, toFailing(native, steps), findFailingCold)
  if (broken.size === 0) return warmup
  for (const [handler, blamed] of broken) console.error(`mayfly: ${explainBroken(plan, handler, blamed)}`)
  return withoutFailing(warmup, broken)
}

/** Equal for what isolates of one `pool` may share: one that keeps its state is each isolate's own, as is all where there is no pool. */
async function shareKey(
  pool: string,
  base: NativeProgram,
  { hash, options }: Program,
  warmup: readonly Warmup[],
): Promise<string> {
  if (pool === '' || !options.ephemeral) return ''
  const warmed = warmup.map(({ handler, count }) => [handler, count])
  return await digestKey(pool, [`program of ${base.handle}`, hash, JSON.stringify([warmed, options.cpuMs])])
}

/** What `beforeSnapshot` threw, in words with its file; undefined where all is well. */
function failedHook(plan: Program, native: NativeProgram, index: number): string | undefined {
  const { failed } = decodeHookAnswer(native.answer(index), { header: HEADER_MAX, body: 0 })
  if (failed === undefined) return undefined
  const file = [...new Set(plan.handlers.map(({ route }) => route.file))][failed.module]
  const { name, message } = toHostError(plan.stacks, failed.error)
  return `beforeSnapshot of ${file} failed: ${name}: ${toPrintable(message)}`
}

/** One frame of the warm-up, and the request that it is; null for the program's own. */
interface Step {
  readonly request: Warmup | null
  readonly frame: WarmupFrame
}

function toTrials({ report }: NativeProgram, steps: readonly Step[]): HandlerTrial[] {
  return report.trials.map(({ entry, warmUs, runUs }) => {
    const { handler, tried } = steps[entry]!.request!
    return { handler, shape: tried!, warmUs, runUs }
  })
}

/** The requests that fail behind their warm-up. */
function toFailing({ report }: NativeProgram, steps: readonly Step[]): Warmup[] {
  return report.failing.flatMap((entry) => steps[entry]!.request ?? [])
}

/** Those of the requests that fail, or have no answer, in the program without a warm-up. Rejects as {@link bootWarm} does. */
async function findFailingCold(
  library: NativeLibrary,
  base: NativeProgram,
  plan: Program,
  seed: string,
  requests: readonly Warmup[],
  signal?: AbortSignal,
): Promise<ReadonlySet<Warmup>> {
  const cold = withColdLimits(plan)
  // They run in forks only.
  const steps = toSteps(cold, requests).map((step) =>
    step.request === null ? step : { ...step, frame: { ...step.frame, runs: 0, rehearse: true } }
  )
  const spec = { ...toLoadSpec(cold, base, seed), warmup: steps.map(({ frame }) => frame) }
  const native = await NativeProgram.boot(library, spec, signal)
  try {
    const fine = native.report.trials.filter(({ failed }) => !failed)
    return new Set(requests).difference(new Set(fine.map(({ entry }) => steps[entry]!.request)))
  } finally {
    await native.close()
  }
}

/** A program whose requests may take what cold ones do. */
function withColdLimits(plan: Program): Program {
  const { cpuMs } = plan.options
  return { ...plan, options: { ...plan.options, cpuMs: cpuMs === 0 ? 0 : cpuMs + COLD_MS } }
}

/** The whole warm-up: the description, each handler's requests in turn, and the application's own last word. */
function toSteps(plan: Program, warmup: readonly Warmup[]): Step[] {
  const handlers = Map.groupBy(warmup, ({ handler }) => handler)
  const timeoutMs = plan.options.timeoutMs + COLD_MS
  const isCompiled = plan.options.runtime === 'deno'
  const requests = warmup.map((entry): Step => {
    const { frame, count, tried } = entry
    const own = handlers.get(entry.handler)!
    const share = (ms: number) => Math.ceil(Math.min(ms, WARMUP_MS / handlers.size) / own.length)
    const runs = isCompiled ? count : Math.min(count, INTERPRETED_RUNS)
    const budget = { windowMs: share(WINDOW_MS), mostMs: share(HANDLER_MS) }
    const rehearse = tried !== null
    return { request: entry, frame: { frame, runs, group: 1, rehearse, timeoutMs, ...budget } }
  })
  return [
    toControl({ control: 'describe' }, 0),
    ...requests,
    // Behind the requests, and of their group: they go on until V8 compiles nothing more for them.
    ...(isCompiled && requests.length > 0 ? [toGauge()] : []),
    toControl({ control: 'before-snapshot', seed: createSeed() }, 2, timeoutMs),
  ]
}

/** Asks what V8 has compiled. */
function toGauge(): Step {
  const frame = encodeControl({ control: 'compiled' })
  return { request: null, frame: { frame, runs: 0, group: 1, gauge: true } }
}

/** A frame of the program's own, whose answer is read after the boot. */
function toControl(
  head: DescribeHead | BeforeSnapshotHead,
  group: number,
  timeoutMs?: number,
): Step {
  const frame = { frame: encodeControl(head), runs: 1, group, tell: true }
  return { request: null, frame: timeoutMs === undefined ? frame : { ...frame, timeoutMs } }
}
