import type { RequestState } from '../context/state.ts'
import type { Awaitable } from '../context/types.ts'
import { hasJson } from './json_members.ts'
import type { ResponseHead } from './message.ts'
import { AnswerError, type GuestAnswer, PLAIN_HEAD } from './response_frame.ts'
import { type StackMapper, toHostError } from './stack.ts'

/** Statuses whose responses have no body, by the Fetch standard. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
const decoder = new TextDecoder()
/** {@link PLAIN_HEAD} for a response. `new Response` copies it, and reads a record quicker than pairs. */
const PLAIN_INIT: ResponseInit = { headers: { 'content-type': 'application/json' } }

/**
 * Makes a guest's answer the response of a request: what the handler collected goes to the context, a view is rendered,
 * an error is thrown. Throws `AnswerError` for an answer that fits no request.
 */
export function toResponse(ctx: RequestState, answer: GuestAnswer, stacks: StackMapper): Awaitable<Response> {
  const { head, body } = answer
  if (head === PLAIN_HEAD && body.length > 0) return new Response(body, PLAIN_INIT)
  takeCollected(ctx, head)
  if (head.error !== undefined) throw toHostError(stacks, head.error)
  if (head.view !== undefined) return renderView(ctx, head.view, body)
  const { status = 200, statusText, headers } = head
  if (BODILESS.has(status) && body.length > 0) {
    throw new AnswerError(
      `Reading a guest's answer: ${body.length} bytes of body, want none with status ${status}`,
    )
  }
  return new Response(body.length === 0 ? null : body, {
    status,
    statusText,
    headers: new Headers(headers as [string, string][] | undefined),
  })
}

function takeCollected(ctx: RequestState, { pending, session, state, setStatus }: ResponseHead): void {
  if (pending !== undefined) {
    ctx.pending = { single: new Map(pending.single), appended: pending.appended as [string, string][] }
  }
  if (setStatus !== undefined) ctx.status = setStatus
  if (state !== undefined) takeState(ctx, state)
  if (session === undefined) return
  if (ctx.session === null) {
    throw new AnswerError(`Reading a guest's answer: it sets a session, and the route has none`)
  }
  ctx.session.data = session.data
  ctx.session.changed = true
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

function renderView(
  ctx: RequestState,
  { name, options }: NonNullable<ResponseHead['view']>,
  body: Uint8Array,
): Awaitable<Response> {
  let data: unknown
  try {
    data = JSON.parse(decoder.decode(body))
  } catch (error) {
    throw new AnswerError(`Reading a guest's answer: the data of the view "${name}" is no JSON`, {
      cause: error,
    })
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new AnswerError(`Reading a guest's answer: the data of the view "${name}" is no object`)
  }
  const { status, stream, headers } = options ?? {}
  const given = {
    ...(status === undefined ? {} : { status }),
    ...(stream === undefined ? {} : { stream }),
    ...(headers === undefined ? {} : { headers: headers as [string, string][] }),
  }
  return ctx.host.render(
    ctx,
    name,
    data as Record<string, unknown>,
    Object.keys(given).length === 0 ? undefined : given,
  )
}
