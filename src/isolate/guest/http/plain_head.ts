/** Heads of responses that are data: a status and a few headers, checked as `Response` checks them. */
import type { HeaderPairs } from '../../wire/message.ts'
import type { FrameHeader } from '../host.ts'

/** Status and headers of a response; the names in lower case, each once. */
export interface PlainHead {
  readonly status: number
  readonly headers: HeaderPairs
  /** It is given out again and again, so its frame may be kept. */
  readonly kept: boolean
  /** Its header as it stands in the frame of an answer with nothing else, once one has gone out. */
  frame: FrameHeader | null
}

/** Heads of what `ctx.send` makes most. */
export const PLAIN_HEADS = {
  json: keep('application/json'),
  text: keep('text/plain; charset=utf-8'),
  html: keep('text/html; charset=utf-8'),
}

/** The type of a text that names none. */
const TEXT_TYPE = 'text/plain;charset=UTF-8'
/** Heads of one content type and status 200, by that. */
const known = new Map(Object.values(PLAIN_HEADS).map((head) => [head.headers[0][1], head]))
/** Most of them: an application has a few. */
const KNOWN = 32
/** Most headers of a plain head; it looks for doubles among them. */
const HEADERS = 16

/** The head of a response with a body of text, or none, as `new Response` takes it; null: that needs a real one, or an error. */
export function toPlainHead(
  isText: boolean,
  status: unknown,
  statusText: unknown,
  headers: unknown,
): PlainHead | null {
  if (statusText !== undefined && statusText !== '') return null
  if (status !== undefined && !(isText ? isStatusOfText(status) : isStatus(status))) return null
  const code = status === undefined ? 200 : status as number
  if (headers === undefined) return isText ? headOf(code, TEXT_TYPE) : once(code, [])
  if (
    typeof headers !== 'object' || headers === null || Object.getPrototypeOf(headers) !== Object.prototype
  ) return null
  return ofRecord(isText, code, headers as Record<string, unknown>)
}

function ofRecord(isText: boolean, status: number, record: Record<string, unknown>): PlainHead | null {
  const names = Object.keys(record)
  if (names.length > HEADERS || Symbol.iterator in record) return null
  const pairs: [string, string][] = []
  let typed = false
  for (const given of names) {
    const value = record[given]
    if (typeof value !== 'string') return null
    const name = given.toLowerCase()
    typed ||= name === 'content-type'
    if (typed && names.length === 1 && isText && known.has(value)) return headOf(status, value)
    if (!isToken(given) || !isPlainValue(value) || pairs.some(([other]) => other === name)) return null
    pairs.push([name, value])
  }
  if (isText && !typed) pairs.push(['content-type', TEXT_TYPE])
  if (typed && pairs.length === 1 && isText) return headOf(status, pairs[0][1])
  return once(status, pairs)
}

/** The head of a content type that is known to be one. */
function headOf(status: number, type: string): PlainHead {
  const head = status === 200 ? known.get(type) : undefined
  if (head !== undefined) return head
  if (status !== 200 || known.size >= KNOWN) return once(status, [['content-type', type]])
  const made = keep(type)
  known.set(type, made)
  return made
}

function keep(type: string): PlainHead {
  return { status: 200, headers: [['content-type', type]], kept: true, frame: null }
}

function once(status: number, headers: HeaderPairs): PlainHead {
  return { status, headers, kept: false, frame: null }
}

function isStatus(status: unknown): status is number {
  return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599
}

/** A status whose response may have a body. */
function isStatusOfText(status: unknown): status is number {
  return isStatus(status) && status !== 204 && status !== 205 && status !== 304
}

/** Whether a name is a token of RFC 9110, section 5.6.2, of the usual characters. */
function isToken(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    const lower = code | 0x20
    const isLetter = lower >= 0x61 && lower <= 0x7a && code < 0x80
    const isDigit = code >= 0x30 && code <= 0x39
    if (!isLetter && !isDigit && code !== 0x2d && code !== 0x5f) return false
  }
  return name.length > 0
}

/** Whether a value is printable ASCII without spaces at its ends: what a `Headers` takes and leaves as it is. */
function isPlainValue(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code > 0x7e) return false
  }
  return value.length > 0 && value.charCodeAt(0) !== 0x20 && value.charCodeAt(value.length - 1) !== 0x20
}
