/**
 * Residue: what the warm-up's requests left in a program, and what shows in its answers.
 *
 * ```text
 *            +-> warm-up -> snapshot -> fork -+
 * base, load |                                +-- one and the same request, which no warm-up asked: equal answers?
 *            +------------> snapshot -> fork -+
 * ```
 * `let first; first ??= ctx.get.query('id')` would give everybody what the first warm-up request asked for.
 */
import { equals } from '@std/bytes'
import { COLD_MS } from './boot.ts'
import type { NativePool } from '../ffi/native_pool.ts'
import type { NativeProgram } from '../ffi/native_program.ts'
import type { ErrorData } from '../wire/message.ts'
import { nameHandler, type Program } from '../plan/program.ts'
import { AnswerError, decodeResponse } from '../wire/response_frame.ts'
import { BODY_MAX, FrameError, HEADER_MAX } from '../wire/wire.ts'

/** Each machine is asked that often: an answer that differs from itself, by the clock say, shows nothing. */
const TIMES = 2

/**
 * The names of the handlers that answer a probe otherwise after their warm-up than without it, which is `cold`. Handlers that do not
 * answer it, or never alike, are left out; so are all that come after `isOver` says that nobody wants to know. Rejects as the pool does.
 */
export async function findResidue(
  pool: NativePool,
  plan: Program,
  cold: NativeProgram,
  warm: NativeProgram,
  isOver: () => boolean,
): Promise<string[]> {
  const found = new Set<string>()
  for (const { handler, frame } of plan.probes) {
    if (isOver()) break
    const ask = (native: NativeProgram) => askTwice(pool, native, plan, frame)
    const [before, after] = [await ask(cold), await ask(warm)]
    if (before === null || after === null || isSame(before, after)) continue
    found.add(nameHandler(plan, handler))
  }
  return [...found]
}

/** Whether two answers are the same. The stacks of errors do not count: the depth of the guest's own loop is no trace of a request. */
function isSame(one: Uint8Array<ArrayBuffer>, other: Uint8Array<ArrayBuffer>): boolean {
  if (equals(one, other)) return true
  const [first, second] = [errorOf(one), errorOf(other)]
  return first !== undefined && first.name === second?.name && first.message === second.message
}

function errorOf(frame: Uint8Array<ArrayBuffer>): ErrorData | undefined {
  try {
    return decodeResponse(frame, { header: HEADER_MAX, body: BODY_MAX }).head.error
  } catch (error) {
    // No answer at all: its bytes are compared.
    if (error instanceof FrameError || error instanceof AnswerError) return undefined
    throw error
  }
}

/** The answer's frame; null where there is none, or another each time. */
async function askTwice(
  pool: NativePool,
  native: NativeProgram,
  { options }: Program,
  frame: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | null> {
  let first: Uint8Array<ArrayBuffer> | null = null
  for (let time = 0; time < TIMES; time++) {
    const completion = await pool.submit(native, frame, { timeoutMs: options.timeoutMs + COLD_MS })
    if (completion.outcome !== 'answered') return null
    if (first !== null && !equals(first, completion.frame)) return null
    first = completion.frame
  }
  return first
}
