import ipaddr from 'ipaddr.js'
import type { TrustProxy } from './options.ts'

/**
 * Turns the option into the question that the context asks. A Unix socket's peer has no address (''): it is trusted by
 * `true` and by a count, not by a list. Throws `TypeError` for an entry that is no address or CIDR range.
 */
export function toTrustedProxy(option: TrustProxy): (address: string, hop: number) => boolean {
  if (typeof option === 'boolean') return () => option
  if (typeof option === 'number') return (_address, hop) => hop < option
  const ranges = option.map(toRange)
  return (address) => address !== '' && ranges.some((range) => contains(range, address))
}

type Range = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

function toRange(text: string): Range {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch {
    throw new TypeError(
      `Cannot make a Router: trustProxy has ${JSON.stringify(text)}, want an address or a CIDR range`,
    )
  }
}

function contains(range: Range, text: string): boolean {
  const address = ipaddr.process(text)
  return address.kind() === range[0].kind() && address.match(range)
}
