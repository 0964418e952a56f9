/**
 * The first line of a request's header. What every request has lies in fields, so that a guest takes it apart without a parser:
 * a core guest spent more than a quarter of a small request on that. What few have is JSON.
 *
 * ```text
 * handler ⇥ method ⇥ url ⇥ path ⇥ ip ⇥ peer ⇥ extras
 * ```
 */
import type { RequestHead } from './message.ts'

/** Index of the handler, method, URL, path and both addresses ('' for none), and {@link RequestExtras} as JSON, or ''. */
export type RequestLine = readonly [
  handler: string,
  method: string,
  url: string,
  path: string,
  ip: string,
  peer: string,
  extras: string,
]

/**
 * What few requests have; JSON makes null of what is undefined. No object: its shape would show which of them there are, and code that
 * was optimised for others would be given up in every request.
 */
export type RequestExtras = readonly [
  params: RequestHead['params'] | null,
  pending: RequestHead['pending'] | null,
  state: RequestHead['state'] | null,
  session: RequestHead['session'] | null,
  validated: RequestHead['validated'] | null,
  status: RequestHead['status'] | null,
  hasRest: RequestHead['hasRest'] | null,
]

/** The parts of a request that the line holds. */
type LineHead = Omit<RequestHead, 'headers' | 'seed'>

/** What ends a field or the line. Parsers of URLs leave these out too (URL standard, basic URL parser, step 2). */
const END = /[\t\n\r]/

/** A line of `head`. No field holds a tab or a line feed, whatever a client writes: `Host` may have a tab, and becomes a part of the URL. */
export function writeLine(head: LineHead): string {
  const { handler, ip = '', peer = '' } = head
  const method = toField(head.method), url = toField(head.url), path = toField(head.path)
  return `${handler}\t${method}\t${url}\t${path}\t${toField(ip)}\t${toField(peer)}\t${writeExtras(head)}`
}

function toField(text: string): string {
  return END.test(text) ? text.replaceAll(/[\t\n\r]/g, '') : text
}

function writeExtras({ params, pending, state, session, validated, status, hasRest }: LineHead): string {
  const isUsual = params === undefined && pending === undefined && state === undefined &&
    session === undefined &&
    validated === undefined && status === undefined && hasRest === undefined
  if (isUsual) return ''
  const extras: RequestExtras = [params, pending, state, session, validated, status, hasRest]
  return JSON.stringify(extras)
}

/** The fields of a line that {@link writeLine} wrote; undefined for a line without tabs. Quicker under V8 than `split`, and on fewer pages. */
export function splitLine(line: string): RequestLine | undefined {
  const a = line.indexOf('\t')
  if (a === -1) return undefined
  const b = line.indexOf('\t', a + 1)
  const c = line.indexOf('\t', b + 1)
  const d = line.indexOf('\t', c + 1)
  const e = line.indexOf('\t', d + 1)
  const f = line.indexOf('\t', e + 1)
  return [
    line.slice(0, a),
    line.slice(a + 1, b),
    line.slice(b + 1, c),
    line.slice(c + 1, d),
    line.slice(d + 1, e),
    line.slice(e + 1, f),
    line.slice(f + 1),
  ]
}
