/** The header of a request, read no further than it is needed. */
import type { HeaderPairs, RequestLine } from '../message.ts'

/** Hex digits at the end of a header. */
export const SEED_DIGITS = 64

/** A request's head. Objects of one shape, whatever the request brings. */
export interface GuestHead {
  readonly line: RequestLine
  /** The whole header. */
  readonly text: string
  /** Where the line of the headers begins. */
  readonly headersAt: number
}

/** Takes a header apart, as the host made it. */
export function readHead(text: string): GuestHead {
  const end = text.indexOf('\n')
  return { line: JSON.parse(text.slice(0, end)), text, headersAt: end + 1 }
}

/** Its headers. */
export function readHeaders({ text, headersAt }: GuestHead): HeaderPairs {
  const flat: string[] = JSON.parse(text.slice(headersAt, text.length - SEED_DIGITS - 1))
  const pairs: [string, string][] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]])
  return pairs
}
