/**
 * Handlers that their warm-up broke. A request that nobody would send may leave a module of no use, as one does that makes WebAssembly
 * panic, and the snapshot would have it so for everybody.
 *
 * ```text
 * warm-up -> snapshot -> fork, a request of the warm-up: an error?  -- no --> it serves
 *                                     | yes
 * load    -> snapshot -> fork, the same request: an error?          -- yes -> it is the handler's own answer
 *                                     | no: broken
 * ```
 */
import { COLD_MS } from './boot.ts'
import type { NativePool } from '../ffi/native_pool.ts'
import type { NativeProgram } from '../ffi/native_program.ts'
import type { Program } from '../plan/program.ts'
import type { Warmup } from '../warm/warmup.ts'
import { AnswerError, decodeResponse } from '../wire/response_frame.ts'
import { BODY_MAX, FrameError, HEADER_MAX } from '../wire/wire.ts'

/** Requests of one handler that are compared, at most. */
const COMPARED = 24

/**
 * The handlers that answer requests of their warm-up by errors in `warm`, and not before it, each with those requests that fail before it
 * too: one of them may be what breaks it. `openCold` gives the program without a warm-up, and is asked when there is something to compare.
 * Rejects as the pool does, and as `openCold`.
 */
export async function findBroken(
  pool: NativePool,
  plan: Program,
  warm: NativeProgram,
  openCold: () => Promise<NativeProgram>,
): Promise<ReadonlyMap<number, ReadonlySet<Warmup>>> {
  const suspects = new Set<number>()
  for (const entry of plan.warmup) {
    if (entry.tried !== null && await fails(pool, plan, warm, entry)) suspects.add(entry.handler)
  }
  const broken = new Map<number, ReadonlySet<Warmup>>()
  if (suspects.size === 0) return broken
  const cold = await openCold()
  for (const handler of suspects) {
    const failing = new Set<Warmup>()
    let isBroken = false
    for (const entry of plan.warmup.filter((entry) => entry.handler === handler).slice(0, COMPARED)) {
      if (await fails(pool, plan, cold, entry)) failing.add(entry)
      else isBroken ||= await fails(pool, plan, warm, entry)
    }
    if (isBroken) broken.set(handler, failing)
  }
  return broken
}

/**
 * A warm-up without the requests that fail; without any of handlers of which none does, as it is not known what broke those. Another
 * request is tried out in the place of one that was.
 */
export function withoutFailing(
  warmup: readonly Warmup[],
  broken: ReadonlyMap<number, ReadonlySet<Warmup>>,
): Warmup[] {
  const left = warmup.filter((entry) => {
    const failing = broken.get(entry.handler)
    return failing === undefined || failing.size > 0 && !failing.has(entry)
  })
  const untried = new Map(
    warmup.filter((entry) => entry.tried !== null && broken.get(entry.handler)?.has(entry))
      .map(({ handler, tried }) => [handler, tried]),
  )
  return left.map((entry) => {
    const tried = untried.get(entry.handler)
    if (tried === undefined || entry.tried !== null) return entry
    untried.delete(entry.handler)
    return { ...entry, tried }
  })
}

/** Whether a request has no answer, or one that tells of an error. */
async function fails(
  pool: NativePool,
  { options }: Program,
  native: NativeProgram,
  { frame }: Warmup,
): Promise<boolean> {
  const completion = await pool.submit(native, frame, { timeoutMs: options.timeoutMs + COLD_MS })
  if (completion.outcome !== 'answered') return true
  try {
    const { head } = decodeResponse(completion.frame, { header: HEADER_MAX, body: BODY_MAX })
    return head.error !== undefined || (head.status ?? 200) >= 500
  } catch (error) {
    if (error instanceof FrameError || error instanceof AnswerError) return true
    throw error
  }
}
