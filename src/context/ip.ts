import ipaddr from 'ipaddr.js'
import type { RequestState } from './state.ts'

/**
 * The client's address: the socket's peer, or behind trusted proxies the nearest address of X-Forwarded-For that is no
 * trusted proxy. An entry that is no address ends the walk. IPv4 in IPv6 form is given as IPv4.
 */
export function clientAddress(state: RequestState, direct: boolean): string | undefined {
  const remote = state.peer?.remoteAddr
  let address = remote !== undefined && 'hostname' in remote ? toPlainAddress(remote.hostname) : undefined
  if (direct || remote === undefined || !state.host.isTrustedProxy(address ?? '', 0)) return address
  const forwarded = state.request.headers.get('x-forwarded-for')?.split(',') ?? []
  for (let hop = 1; hop <= forwarded.length; hop++) {
    const next = toPlainAddress(forwarded[forwarded.length - hop].trim())
    if (next === undefined) return address
    address = next
    if (!state.host.isTrustedProxy(address, hop)) return address
  }
  return address
}

/** IPv4 in its only short form; most addresses are. */
const PLAIN_IPV4 = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** An address in its short form, IPv4-mapped IPv6 as IPv4; undefined when it is none. */
export function toPlainAddress(text: string): string | undefined {
  if (PLAIN_IPV4.test(text)) return text
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : undefined
}
