/** The header of a request, read no further than it is needed. */
import type { HeaderPairs, RequestLine } from '../message.ts'

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
}

/** A body of no bytes. */
export const NOTHING = new Uint8Array(0)
const NO_LINE: RequestLine = [0, '', '', '', null, null, null, null, null]

/** A head that nothing has come for yet. */
export function createHead(): GuestHead {
  return { line: NO_LINE, text: '', headersAt: 0, body: NOTHING }
}

/** Puts a header into `head`, but for its first line, which it gives; that of a control frame is all of it. */
export function splitHeader(text: string, head: GuestHead): string {
  const end = text.indexOf('\n')
  head.text = text
  head.headersAt = end + 1
  return end === -1 ? text : text.slice(0, end)
}

/** Takes a request's header apart, as the host made it. */
export function readHead(text: string): GuestHead {
  const head = createHead()
  head.line = JSON.parse(splitHeader(text, head))
  return head
}

/** Its headers. */
export function readHeaders({ text, headersAt }: GuestHead): HeaderPairs {
  const flat: string[] = JSON.parse(text.slice(headersAt, text.length - SEED_DIGITS - 1))
  const pairs: [string, string][] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]])
  return pairs
}
