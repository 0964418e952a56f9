/**
 * Handlers that their warm-up broke. A request that nobody would send may leave a module of no use, as one does that makes WebAssembly
 * panic, and the snapshot would have it so for everybody.
 *
 * ```text
 * load -> warm-up -> snapshot -> fork: requests that fail -+-- some fail only behind the warm-up: it broke the handler
 * load ------------> snapshot -> fork: requests that fail -+
 * ```
 */
import { equals } from '@std/bytes'
import { nameHandler, type Program } from '../plan/program.ts'
import { readBody, readTarget } from '../wire/request_frame.ts'
import type { Warmup } from '../warm/warmup.ts'

/** Most requests of one handler that are asked of the program without a warm-up. */
const COMPARED = 64
/** Most requests that a message names. */
const NAMED = 3

/** Handlers that their warm-up broke, each with those of its requests that it is not to be warmed up with. */
export type BrokenHandlers = ReadonlyMap<number, ReadonlySet<Warmup>>

/**
 * Finds them: `failing` are the requests that fail behind the warm-up, and `findFailingCold` gives those that fail without one. A program
 * that keeps its state may answer otherwise each time, and is none. Rejects as `findFailingCold` does.
 */
export async function findBroken(
  { options }: Program,
  warmup: readonly Warmup[],
  failing: readonly Warmup[],
  findFailingCold: (requests: readonly Warmup[]) => Promise<ReadonlySet<Warmup>>,
): Promise<BrokenHandlers> {
  if (failing.length === 0 || !options.ephemeral) return new Map()
  const suspects = new Set(failing.map(({ handler }) => handler))
  const asked = [...suspects].flatMap((handler) => ofHandler(warmup, handler).slice(0, COMPARED))
  const failingCold = await findFailingCold(asked)
  const fine = new Set(asked).difference(failingCold)
  const broken = new Map<number, ReadonlySet<Warmup>>()
  for (const { handler } of failing.filter((request) => fine.has(request))) {
    const own = ofHandler(warmup, handler)
    const blamed = own.filter((request) => !fine.has(request))
    // Where all are well by themselves nobody knows which of them it was.
    broken.set(handler, new Set(blamed.length === 0 ? own : blamed))
  }
  return broken
}

function ofHandler(warmup: readonly Warmup[], handler: number): Warmup[] {
  return warmup.filter((request) => request.handler === handler)
}

/** A warm-up without the requests that broke its handlers. Another request is tried out in the place of one that was. */
export function withoutFailing(warmup: readonly Warmup[], broken: BrokenHandlers): Warmup[] {
  const isBlamed = (entry: Warmup) => broken.get(entry.handler)?.has(entry) ?? false
  const untried = new Map(
    warmup.filter((entry) => entry.tried !== null && isBlamed(entry)).map((
      { handler, tried },
    ) => [handler, tried]),
  )
  return warmup.filter((entry) => !isBlamed(entry)).map((entry) => {
    const tried = untried.get(entry.handler)
    if (tried === undefined || entry.tried !== null) return entry
    untried.delete(entry.handler)
    return { ...entry, tried }
  })
}

/** A warm-up without one request, whichever clients send it. */
export function withoutRequest(warmup: readonly Warmup[], request: Warmup): Warmup[] {
  const same = warmup.filter((entry) =>
    entry.handler === request.handler && nameRequest(entry) === nameRequest(request) &&
    equals(readBody(entry.frame), readBody(request.frame))
  )
  return withoutFailing(warmup, new Map([[request.handler, new Set(same)]]))
}

/** What standard error says of such a handler. */
export function explainBroken(plan: Program, handler: number, blamed: ReadonlySet<Warmup>): string {
  const targets = new Set([...blamed].map(nameRequest))
  const more = targets.size > NAMED ? `, and ${targets.size - NAMED} more` : ''
  const names = [...targets].slice(0, NAMED).join(', ')
  return `the warm-up of ${
    nameHandler(plan, handler)
  } broke it: requests fail behind it that are answered without it. ` +
    `It starts without ${names}${more}; \`warmup\` in its file says which requests it gets`
}

/** Method and path of a request of the warm-up, for people. */
export function nameRequest({ frame }: Warmup): string {
  return readTarget(frame) ?? 'a call'
}
