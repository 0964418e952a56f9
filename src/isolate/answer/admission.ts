/** Keeps the parts of an answer, beside its body, that the handler is allowed; drops and reports the rest. */
import type { PendingHeaders, RequestState } from '../../context/state.ts'
import { grantFor, type Grants, hasGrant } from '../plan/grants.ts'
import { hasJson } from '../wire/json_members.ts'
import type { HeaderPairs, ResponseHead } from '../wire/message.ts'
import { AnswerError } from '../wire/response_frame.ts'

/** What a request was refused, by the grant that it lacks, and how often. */
export type Refusals = Map<string, number>

/** One answer on its way into a request. */
export interface Admission {
  readonly ctx: RequestState
  readonly grants: Grants
  /** Null until there is one. */
  refusals: Refusals | null
}

/** Notes a refusal. */
function refuse(admission: Admission, grant: string): void {
  const refusals = admission.refusals ??= new Map()
  refusals.set(grant, (refusals.get(grant) ?? 0) + 1)
}

/** The headers that the handler may set. One that has the value that middleware gave it is no attempt. */
export function admitHeaders(admission: Admission, pairs: HeaderPairs): [string, string][] {
  const own = admission.ctx.pending?.single
  const admitted: [string, string][] = []
  for (const [name, value] of pairs) {
    const grant = grantFor(name, own)
    if (grant === undefined || hasGrant(admission.grants, grant)) admitted.push([name, value])
    else if (own?.get(name) !== value) refuse(admission, grant)
  }
  return admitted
}

/** Puts what the handler collected by `ctx.set` and `ctx.state` beside what middleware left there. Throws `AnswerError`. */
export function admitCollected(admission: Admission, head: ResponseHead): void {
  const { ctx, grants } = admission
  const { pending, session, state, setStatus } = head
  if (pending !== undefined) admitPending(admission, pending)
  if (setStatus !== undefined) ctx.status = setStatus
  if (state !== undefined) {
    if (grants.state) takeState(ctx, state)
    else refuse(admission, 'state')
  }
  if (session === undefined) return
  if (ctx.session === null) {
    throw new AnswerError(`Reading a guest's answer: it sets a session, and the route has none`)
  }
  if (!grants.session) return refuse(admission, 'session')
  ctx.session.data = session.data
  ctx.session.changed = true
}

function admitPending(
  admission: Admission,
  { single, appended }: NonNullable<ResponseHead['pending']>,
): void {
  const mine: PendingHeaders = {
    single: new Map(admitHeaders(admission, single)),
    appended: admitHeaders(admission, appended),
  }
  const { ctx } = admission
  if (ctx.pending === null) {
    ctx.pending = mine
    return
  }
  for (const [name, value] of mine.single) ctx.pending.single.set(name, value)
  ctx.pending.appended.push(...mine.appended)
}

/** Members without a JSON form have never left the host and stay; all others are as the guest says. */
function takeState(ctx: RequestState, state: Readonly<Record<string, unknown>>): void {
  const bag = ctx.bag ??= {}
  for (const [name, value] of Object.entries(bag)) {
    if (!Object.hasOwn(state, name) && hasJson(value)) delete bag[name]
  }
  for (const [name, value] of Object.entries(state)) {
    // Not an assignment, which a member named `__proto__` would turn into another thing.
    Object.defineProperty(bag, name, { value, writable: true, enumerable: true, configurable: true })
  }
}
