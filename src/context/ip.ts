import { formatAddress, parseAddress, unmap } from '../addresses/address.ts'
import type { RequestState } from './state.ts'

/**
 * The client's address: the socket's peer, or behind trusted proxies the nearest address of X-Forwarded-For that is no
 * trusted proxy. An entry that is no address ends the walk. IPv4 in IPv6 form is given as IPv4.
 */
export function clientAddress(state: RequestState, direct: boolean): string | undefined {
  const peer = peerAddress(state)
  return direct ? peer : behindProxies(state, peer)
}

/** The client's address, and that of the socket's peer. */
export function clientAddresses(state: RequestState): { ip: string | undefined; peer: string | undefined } {
  const peer = peerAddress(state)
  return { ip: behindProxies(state, peer), peer }
}

function peerAddress({ peer }: RequestState): string | undefined {
  const remote = peer?.remoteAddr
  return remote !== undefined && 'hostname' in remote ? toPlainAddress(remote.hostname) : undefined
}

function behindProxies(state: RequestState, peer: string | undefined): string | undefined {
  if (state.peer === undefined || !state.host.isTrustedProxy(peer ?? '', 0)) return peer
  let address = peer
  const forwarded = state.request.headers.get('x-forwarded-for')?.split(',') ?? []
  for (let hop = 1; hop <= forwarded.length; hop++) {
    const next = toPlainAddress(forwarded[forwarded.length - hop]!.trim())
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
  const address = parseAddress(text)
  return address === undefined ? undefined : formatAddress(unmap(address))
}
