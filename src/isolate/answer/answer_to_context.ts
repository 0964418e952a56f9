import type { RequestState } from '../../context/state.ts'
import type { Awaitable } from '../../context/types.ts'
import { type Admission, admitCollected, admitHeaders } from './admission.ts'
import type { ErrorData, ResponseHead } from '../wire/message.ts'
import { AnswerError, type GuestAnswer, parseJson, PLAIN_HEAD } from '../wire/response_frame.ts'
import { type StackMapper, toHostError } from '../plan/stack.ts'
import { FrameError } from '../wire/wire.ts'

/** Statuses whose responses have no body, by the Fetch standard. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
/** {@link PLAIN_HEAD} for a response. `new Response` copies it, and reads a record quicker than pairs. */
const PLAIN_INIT: ResponseInit = { headers: { 'content-type': 'application/json' } }

/**
 * Makes a guest's answer the response of a request: what the handler collected, and may, goes to the context, a view is rendered,
 * an error is thrown. Throws `AnswerError` for an answer that fits no request.
 */
export function toResponse(
  admission: Admission,
  answer: GuestAnswer,
  stacks: StackMapper,
): Awaitable<Response> {
  const { head, body } = answer
  if (head === PLAIN_HEAD && body.length > 0) return new Response(body, PLAIN_INIT)
  // Before what the handler collected stands beside what middleware set.
  const headers = admitHeaders(admission, head.headers ?? head.view?.options?.headers ?? [])
  const error = head.error === undefined ? undefined : toHostError(stacks, admitError(admission, head.error))
  admitCollected(admission, head)
  if (error !== undefined) throw error
  if (head.view !== undefined) return renderView(admission.ctx, head.view, headers, body)
  const { status = 200, statusText } = head
  if (BODILESS.has(status) && body.length > 0) {
    throw new AnswerError(
      `Reading a guest's answer: ${body.length} bytes of body, want none with status ${status}`,
    )
  }
  return new Response(body.length === 0 ? null : body, {
    status,
    ...(statusText === undefined ? {} : { statusText }),
    headers,
  })
}

/** The same of an answer whose body comes piece by piece. Throws `AnswerError`. */
export function toStreamed(
  admission: Admission,
  head: ResponseHead,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Response {
  const { status, statusText, headers: pairs = [] } = head
  if (status === undefined || BODILESS.has(status)) {
    throw new AnswerError(`Reading a guest's answer: a stream of status ${status}, want one that has a body`)
  }
  const headers = admitHeaders(admission, pairs)
  admitCollected(admission, head)
  return new Response(body, { status, ...(statusText === undefined ? {} : { statusText }), headers })
}

/** The error, with the headers that its handler may set. */
function admitError(admission: Admission, error: ErrorData): ErrorData {
  if (error.http?.headers === undefined) return error
  const headers = Object.fromEntries(admitHeaders(admission, Object.entries(error.http.headers)))
  return { ...error, http: { ...error.http, headers } }
}

/** Bytes of a view's data: the server parses them while nothing else is served, at worst 0.1 us a byte. */
const VIEW_DATA_MAX = 1 << 19

function renderView(
  ctx: RequestState,
  { name, options }: NonNullable<ResponseHead['view']>,
  headers: [string, string][],
  body: Uint8Array<ArrayBuffer>,
): Awaitable<Response> {
  if (body.length > VIEW_DATA_MAX) {
    throw new AnswerError(
      `Reading a guest's answer: ${body.length} bytes of data for the view "${name}", want at most ${VIEW_DATA_MAX}`,
    )
  }
  let data: unknown
  try {
    data = parseJson(body)
  } catch (error) {
    if (error instanceof FrameError) throw error
    throw new AnswerError(`Reading a guest's answer: the data of the view "${name}" is no JSON`, {
      cause: error,
    })
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new AnswerError(`Reading a guest's answer: the data of the view "${name}" is no object`)
  }
  const { status, stream } = options ?? {}
  const given = {
    ...(status === undefined ? {} : { status }),
    ...(stream === undefined ? {} : { stream }),
    ...(headers.length === 0 ? {} : { headers }),
  }
  return ctx.host.render(
    ctx,
    name,
    data as Record<string, unknown>,
    Object.keys(given).length === 0 ? undefined : given,
  )
}
