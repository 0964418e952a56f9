/** Runs what a visitor wrote, and turns every outcome into bounded text. */
import {
  LimitError,
  type MetLimit,
  QueueError,
  type RunResult,
  type RunStats,
  type Sandbox,
  SandboxError,
  type SandboxLimits,
} from '@mayfly/mayfly/sandbox'
import type { Language } from './samples.ts'

/** What one run may take. All runs have these, so that they share the machines that wait. */
export const RUN_LIMITS = {
  timeoutMs: 2000,
  cpuMs: 500,
  memoryMb: 32,
  outputBytes: 64 << 10,
  valueBytes: 64 << 10,
  logBytes: 16 << 10,
} as const satisfies SandboxLimits

/** Characters of a program. */
export const MAX_CODE = 20_000
/** Bytes of a request: a form takes up to nine for a character. */
export const MAX_BODY = 192 << 10
/** Characters of an answer, of a message and of a stack that are shown. */
const MAX_SHOWN = 20_000
/** Runs of all visitors under way; over it a run is refused, so that nobody waits long. */
const MAX_UNDER_WAY = 16

/** How a run ended: with an answer, with an error of its own, at a limit, or without an answer. */
export type Outcome = 'answered' | 'threw' | 'limit' | 'ended'

/** What became of a program. */
export interface Attempt {
  readonly outcome: Outcome
  /** One sentence. */
  readonly verdict: string
  /** The answer, or the error with its stack, as text. */
  readonly text: string
  /** What it wrote to its console. */
  readonly logs: string
  /** The limit that it met. */
  readonly limit?: MetLimit
  readonly cost?: Cost
}

/** What a run took. Times are microseconds. */
export interface Cost {
  readonly queue: number
  /** Reading the modules; undefined where the program gave no answer that could tell. */
  readonly load?: number
  /** In the machine, with `load`. */
  readonly run: number
  readonly reset: number
  /** Pages of 4 KiB that the reset put back. */
  readonly pages: number
  readonly exits: number
}

/** Runs of the playground. */
export interface Playground {
  readonly sandbox: () => Sandbox
  underWay: number
  /** The run that boots a machine for these limits, so that no visitor waits for that. */
  preparing: Promise<unknown> | null
}

/** Nothing ran: too many runs are under way. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}

/** Before the first run. */
export function createPlayground(sandbox: () => Sandbox): Playground {
  return { sandbox, underWay: 0, preparing: null }
}

/** Boots the machine that waits for programs, once; where there is none, a run will say why. */
export function prepare(playground: Playground): void {
  playground.preparing ??= playground.sandbox().run('export default 0', RUN_LIMITS).catch(() => {
    playground.preparing = null
  })
}

/**
 * Runs a program. Rejects with {@linkcode BusyError} when too many run, and with what `Sandbox.run` says where there is no machine; every
 * other end of a program is an {@linkcode Attempt}.
 */
export function attempt(playground: Playground, code: string, language: Language): Promise<Attempt> {
  return runAttempt(
    playground,
    async (sandbox) => await toAnswered(await sandbox.run(code, { ...RUN_LIMITS, language })),
  )
}

/** Does what runs a program, while not too many run. Rejects as {@linkcode attempt} does. */
export async function runAttempt(
  playground: Playground,
  run: (sandbox: Sandbox) => Promise<Attempt>,
): Promise<Attempt> {
  if (playground.underWay >= MAX_UNDER_WAY) throw new BusyError(`${MAX_UNDER_WAY} programs run or wait`)
  playground.underWay++
  try {
    return await run(playground.sandbox())
  } catch (error) {
    if (error instanceof QueueError) throw new BusyError(error.message)
    if (!(error instanceof SandboxError) || error.stats === undefined) throw error
    return await toFailed(error, error.stats)
  } finally {
    playground.underWay--
  }
}

async function toAnswered({ value, logs, stats }: RunResult): Promise<Attempt> {
  const cost = await toCost(stats)
  return {
    outcome: 'answered',
    verdict: `Answered after ${toMs(cost.run)} in a machine that was reset in ${toMs(cost.reset)}`,
    text: cut(toText(value)),
    logs,
    cost,
  }
}

async function toFailed(error: SandboxError, stats: RunStats): Promise<Attempt> {
  const cost = await toCost(stats)
  const { logs, name, message, stack = '' } = error
  if (error instanceof LimitError) {
    const { limit } = error
    const verdict = `Stopped at the limit ${limit.name}, and the machine was reset in ${toMs(cost.reset)}`
    return { outcome: 'limit', verdict, text: `${name}: ${message}`, logs, limit, cost }
  }
  if (name === 'CrashError') {
    const verdict = `Ended without an answer, and the machine was reset in ${toMs(cost.reset)}`
    return { outcome: 'ended', verdict, text: message, logs, cost }
  }
  return {
    outcome: 'threw',
    verdict: `Threw ${cut(name, 80)}, and the machine was reset in ${toMs(cost.reset)}`,
    text: cut(stack === '' ? `${name}: ${message}` : stack),
    logs,
    cost,
  }
}

/** What a run took, behind its reset. */
export async function toCost({ queueMicros, loadMicros, runMicros, exits, reset }: RunStats): Promise<Cost> {
  const { resetMicros, pages } = await reset()
  return {
    queue: Math.round(queueMicros),
    ...(loadMicros === undefined ? {} : { load: loadMicros }),
    run: Math.round(runMicros),
    reset: Math.round(resetMicros),
    pages,
    exits,
  }
}

/** The value is a clone, without getters, proxies and functions: to look at it runs nothing of the program's. */
function toText(value: unknown): string {
  return Deno.inspect(value, { depth: 8, iterableLimit: 200, strAbbreviateSize: MAX_SHOWN, colors: false })
}

/** Text of at most `most` characters, and how many were left out. */
export function cut(text: string, most = MAX_SHOWN): string {
  return text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} characters more` : text
}

/** Microseconds as milliseconds with three digits. */
export function toMs(micros: number): string {
  return `${Number((micros / 1000).toPrecision(3))} ms`
}
