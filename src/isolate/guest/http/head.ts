/** The header of a request, parsed only as far as it is needed. */
import type { HeaderPairs } from '../../wire/message.ts'
import { type RequestLine, splitLine } from '../../wire/request_line.ts'

/** Hex digits at the end of a header. */
export const SEED_DIGITS = 64

/** A request as its frame brought it. One object for each, there before the frame comes; of one shape, whatever that brings. */
export interface GuestHead {
  line: RequestLine
  /** The header, at least from {@link headersAt} on. */
  text: string
  /** Where in it the line of the headers begins. */
  headersAt: number
  /** Its own, shared with no other frame. */
  body: Uint8Array<ArrayBuffer>
  /** {@link body} is the beginning of it: the host has the rest. */
  hasRest: boolean
}

/** A body of no bytes. */
export const NOTHING = new Uint8Array(0)
const NO_LINE: RequestLine = ['', '', '', '', '', '', '']

/** A head that nothing has come for yet. */
export function createHead(): GuestHead {
  return { line: NO_LINE, text: '', headersAt: 0, body: NOTHING, hasRest: false }
}

/** Puts the header of a request into `head`. Gives that of a control frame, '' for a request. */
export function readHeader(text: string, head: GuestHead): string {
  const end = text.indexOf('\n')
  const line = end === -1 ? undefined : splitLine(text.slice(0, end))
  if (line === undefined) return text
  head.line = line
  head.text = text
  head.headersAt = end + 1
  return ''
}

/** Takes a request's header apart, as the host made it. */
export function readHead(text: string): GuestHead {
  const head = createHead()
  readHeader(text, head)
  return head
}

/** Its headers. */
export function readHeaders({ text, headersAt }: GuestHead): HeaderPairs {
  const flat: string[] = JSON.parse(text.slice(headersAt, text.length - SEED_DIGITS - 1))
  const pairs: [string, string][] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]])
  return pairs
}
