/** Which addresses the host connects to for isolated code: those of the public internet, and those that were named. */
import ipaddr from 'ipaddr.js'

/** Addresses with their bits, as `10.1.0.0/16`. */
export type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

/** Public by their numbers, and yet the host's own affair: Azure's machines reach their agent there. */
const SPECIAL: readonly Range[] = [ipaddr.parseCIDR('168.63.129.16/32')]
/** What the world's IPv6 is; the rest is reserved, or leads to addresses of IPv4 by a detour. */
const GLOBAL_V6: Range = ipaddr.parseCIDR('2000::/3')

/** Addresses of the machine itself. */
export const LOOPBACK: readonly Range[] = [ipaddr.parseCIDR('127.0.0.0/8'), ipaddr.parseCIDR('::1/128')]

/** An address or a range of them; undefined for what is none. */
export function toRange(text: string): Range | undefined {
  const [address, bits, ...more] = text.split('/')
  if (more.length > 0 || !isAddress(address!)) return undefined
  const parsed = ipaddr.parse(address!)
  const most = parsed.kind() === 'ipv4' ? 32 : 128
  if (bits === undefined) return [parsed, most]
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most ? [parsed, Number(bits)] : undefined
}

/** Whether it is an address as the URL standard and resolvers write it. */
export function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && !text.includes('%'))
}

/** Whether the host may connect to it; `named` are ranges that are allowed though they are not public. */
export function isReachable(text: string, named: readonly Range[]): boolean {
  if (!isAddress(text)) return false
  const address = ipaddr.process(text)
  if (named.some((range) => isIn(address, range))) return true
  if (SPECIAL.some((range) => isIn(address, range)) || address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || isIn(address, GLOBAL_V6)
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, [range, bits]: Range): boolean {
  return address.kind() === range.kind() && address.match(range, bits)
}
