/** Reads what a guest answered. A guest is not trusted: every member is checked before it is used. */
import { toPrintable } from '../../errors/printable.ts'
import { isHeaderName, isHeaderValue, trimHeaderValue } from '../../context/header_text.ts'
import { MAX_RESPONSE_HEADERS } from '../../context/limits.ts'
import type {
  DescribeAnswer,
  ErrorData,
  HeaderPairs,
  HookAnswer,
  PendingData,
  ResponseHead,
} from './message.ts'
import { MAX_CAUSES, MAX_ERROR_TEXT } from './message.ts'
import { findBody, FrameError, type FrameLimits, HEAD_BYTES, readFrame, RESPONSE } from './wire.ts'

/** A guest's answer. The body is a view into the frame's bytes. */
export interface GuestAnswer {
  readonly head: ResponseHead
  readonly body: Uint8Array<ArrayBuffer>
}

/** A header or member that is not as {@link ResponseHead} says. Its message is printable. */
export class AnswerError extends TypeError {
  override readonly name = 'AnswerError'

  constructor(message: string, options?: ErrorOptions) {
    super(toPrintable(message), options)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })
/** The header that `ctx.send.json` makes most, as it stands in the frame, and what it says. */
const PLAIN_JSON = new TextEncoder().encode('{"status":200,"headers":[["content-type","application/json"]]}')
export const PLAIN_HEAD: ResponseHead = Object.freeze({
  status: 200,
  headers: [['content-type', 'application/json']] as const,
})

/** Takes the answer to a request apart. Throws `FrameError` for what is no frame, `AnswerError` for what is no answer. */
export function decodeResponse(bytes: Uint8Array<ArrayBuffer>, limits: FrameLimits): GuestAnswer {
  const end = findBody(bytes, RESPONSE, limits)
  const body = bytes.subarray(end)
  if (isPlainJson(bytes, end)) return { head: PLAIN_HEAD, body }
  return { head: toResponseHead(parse(bytes.subarray(HEAD_BYTES, end))), body }
}

/** The head of an answer whose body follows piece by piece. Throws as {@link decodeResponse}. */
export function decodeResponseHead(json: Uint8Array<ArrayBuffer>, most: number): ResponseHead {
  if (json.length > most) {
    throw new FrameError('header', json.length, `its header has ${json.length} bytes, wanted at most ${most}`)
  }
  return toResponseHead(parse(json))
}

function isPlainJson(bytes: Uint8Array, end: number): boolean {
  if (end !== HEAD_BYTES + PLAIN_JSON.length) return false
  for (let i = 0; i < PLAIN_JSON.length; i++) {
    if (bytes[HEAD_BYTES + i] !== PLAIN_JSON[i]) return false
  }
  return true
}

/** Takes the answer to `describe` apart. Throws as {@link decodeResponse}. */
export function decodeDescription(bytes: Uint8Array<ArrayBuffer>, limits: FrameLimits): DescribeAnswer {
  const { handlers } = parse(readFrame(bytes, RESPONSE, limits).header)
  if (!Array.isArray(handlers)) throw fault('handlers', handlers, 'an array')
  return {
    handlers: handlers.map((value: unknown, index) => {
      const { name, error } = record(`handlers[${index}]`, value)
      return { name: text('name', name), ...(error === undefined ? {} : { error: toError(error, 0) }) }
    }),
  }
}

/** Takes the answer to `before-snapshot` apart. Throws as {@link decodeResponse}. */
export function decodeHookAnswer(bytes: Uint8Array<ArrayBuffer>, limits: FrameLimits): HookAnswer {
  const { failed } = parse(readFrame(bytes, RESPONSE, limits).header)
  if (failed === undefined) return {}
  const { module, error } = record('failed', failed)
  if (!Number.isInteger(module)) throw fault('failed.module', module, 'an integer')
  return { failed: { module: module as number, error: toError(error, 0) } }
}

function toText(header: Uint8Array<ArrayBuffer>): string {
  try {
    return decoder.decode(header)
  } catch (error) {
    throw new FrameError('json', 0, 'its text is no UTF-8', { cause: error })
  }
}

/** Arrays and objects that a guest's JSON may have one in another. */
const MAX_DEPTH = 100

/** The value of a guest's JSON. Throws `FrameError` for what is none, and for what is nested too deep for those who walk through it. */
export function parseJson(bytes: Uint8Array<ArrayBuffer>): unknown {
  checkDepth(bytes)
  return JSON.parse(toText(bytes))
}

function checkDepth(json: Uint8Array): void {
  if (json.length < 2 * MAX_DEPTH) return
  let depth = 0
  let inText = false
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]
    if (inText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) {
      inText = true
    } else if (byte === BRACKET || byte === BRACE) {
      if (++depth > MAX_DEPTH) {
        throw new FrameError('json', 0, `its JSON is nested more than ${MAX_DEPTH} deep`)
      }
    } else if (byte === BRACKET + 2 || byte === BRACE + 2) {
      depth--
    }
  }
}

const QUOTE = 0x22, BACKSLASH = 0x5c, BRACKET = 0x5b, BRACE = 0x7b

function parse(header: Uint8Array<ArrayBuffer>): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(header)
  } catch (error) {
    if (error instanceof FrameError) throw error
    throw new FrameError('json', 0, 'its header is no JSON', { cause: error })
  }
  return record('the header', value)
}

function toResponseHead(value: Record<string, unknown>): ResponseHead {
  const head = readHead(value)
  const { headers = [], pending, view } = head
  const all = [headers, pending?.single ?? [], pending?.appended ?? [], view?.options?.headers ?? []]
  const count = all.reduce((sum, pairs) => sum + pairs.length, 0)
  if (count > MAX_RESPONSE_HEADERS) {
    throw fault('the number of headers', count, `at most ${MAX_RESPONSE_HEADERS}`)
  }
  return head
}

function readHead(head: Record<string, unknown>): ResponseHead {
  const { error, over, view, pending, session, state, setStatus } = head
  const common = {
    ...(pending === undefined ? {} : { pending: toPending(pending) }),
    ...(session === undefined ? {} : { session: toSession(session) }),
    ...(state === undefined ? {} : { state: withoutPrototype(record('state', state)) }),
    ...(setStatus === undefined ? {} : { setStatus: status('setStatus', setStatus) }),
  }
  if (error !== undefined) {
    return {
      ...common,
      error: toError(error, 0),
      ...(over === undefined ? {} : { over: flag('over', over) }),
    }
  }
  if (view !== undefined) return { ...common, view: toView(view) }
  const { statusText } = head
  return {
    ...common,
    status: status('status', head.status),
    ...(statusText === undefined ? {} : { statusText: reason(statusText) }),
    headers: headerPairs('headers', head.headers),
  }
}

function toView(value: unknown): ResponseHead['view'] {
  const { name, options } = record('view', value)
  const given = options === undefined ? {} : record('view.options', options)
  return {
    name: viewName(name),
    options: {
      ...(given.status === undefined ? {} : { status: status('view.options.status', given.status) }),
      ...(given.stream === undefined ? {} : { stream: flag('view.options.stream', given.stream) }),
      ...(given.headers === undefined ? {} : { headers: headerPairs('view.options.headers', given.headers) }),
    },
  }
}

function toPending(value: unknown): PendingData {
  const { single, appended } = record('pending', value)
  return {
    single: headerPairs('pending.single', single),
    appended: headerPairs('pending.appended', appended),
  }
}

function toSession(value: unknown): ResponseHead['session'] {
  const { data } = record('session', value)
  if (typeof data !== 'object') throw fault('session.data', data, 'an object or null')
  return { data }
}

function toError(value: unknown, depth: number): ErrorData {
  const { name, message, stack, http, cause } = record('error', value)
  return {
    name: shortText('error.name', name),
    message: shortText('error.message', message),
    ...(stack === undefined ? {} : { stack: shortText('error.stack', stack) }),
    ...(http === undefined ? {} : { http: toHttp(http) }),
    ...(cause === undefined || depth + 1 >= MAX_CAUSES ? {} : { cause: toError(cause, depth + 1) }),
  }
}

function toHttp(value: unknown): ErrorData['http'] {
  const { status: code, type, headers, details } = record('error.http', value)
  if (!Number.isInteger(code) || (code as number) < 400 || (code as number) > 599) {
    throw fault('error.http.status', code, 'an integer from 400 to 599')
  }
  return {
    status: code as number,
    type: shortText('error.http.type', type),
    ...(headers === undefined ? {} : { headers: headerRecord(headers) }),
    ...(details === undefined ? {} : { details: withoutPrototype(record('error.http.details', details)) }),
  }
}

function headerRecord(value: unknown): Record<string, string> {
  return Object.fromEntries(
    headerPairs('error.http.headers', Object.entries(record('error.http.headers', value))),
  )
}

/** Pairs that `Headers` takes as they are: names in lower case, values without white space at their ends. */
function headerPairs(member: string, value: unknown): HeaderPairs {
  if (!Array.isArray(value)) throw fault(member, value, 'an array of pairs')
  if (value.length > MAX_RESPONSE_HEADERS) {
    throw fault(member, value, `at most ${MAX_RESPONSE_HEADERS}`)
  }
  return value.map((pair: unknown) => {
    if (
      !Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string' || typeof pair[1] !== 'string'
    ) {
      throw fault(member, pair, 'a pair of name and value')
    }
    const [name, content] = pair
    const trimmed = trimHeaderValue(content)
    if (!isHeaderName(name)) throw fault(`a name in ${member}`, name, 'the name of a header')
    if (!isHeaderValue(trimmed)) throw fault(`a value in ${member}`, content, 'the value of a header')
    return [name.toLowerCase(), trimmed] as const
  })
}

function status(member: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599) return value as number
  throw fault(member, value, 'an integer from 200 to 599')
}

/** RFC 9112, section 4: a reason phrase has no control characters. */
function reason(value: unknown): string {
  if (typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value
  throw fault('statusText', value, 'a reason phrase')
}

function record(member: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw fault(member, value, 'an object')
}

/** A copy that a member named `__proto__` cannot give a prototype. */
function withoutPrototype(value: Record<string, unknown>): Record<string, unknown> {
  return Object.assign(Object.create(null), value)
}

/** Longest name of a view: a path below the folder of the views. */
const MAX_VIEW_NAME = 1024

function viewName(value: unknown): string {
  const name = text('view.name', value)
  if (name.length > MAX_VIEW_NAME) {
    throw fault('view.name', name, `at most ${MAX_VIEW_NAME} characters`)
  }
  return name
}

function text(member: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw fault(member, value, 'text')
}

function shortText(member: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= MAX_ERROR_TEXT) return value
  throw fault(
    member,
    typeof value === 'string' ? `${value.length} characters` : value,
    `text of at most ${MAX_ERROR_TEXT} characters`,
  )
}

function flag(member: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw fault(member, value, 'true or false')
}

function fault(member: string, value: unknown, wanted: string): AnswerError {
  return new AnswerError(`Reading a guest's answer: ${member} is ${show(value)}, want ${wanted}`)
}

/** A few words about a value of a guest, however large it is. */
function show(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}...` : JSON.stringify(value)
}
