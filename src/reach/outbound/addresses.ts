/** Which addresses the host connects to for isolated code: those of the public internet, and those that were named. */
import {
  type Address,
  formatAddress,
  isIn,
  parseAddress,
  parseRange,
  type Range,
  unmap,
} from '../../addresses/address.ts'

export type { Range }

/** The package that knows what addresses are for. */
export type AddressKinds = typeof import('ipaddr.js')

/** Public by their numbers, and yet the host's own affair: Azure's machines reach their agent there. */
const SPECIAL: readonly Range[] = [parseRange('168.63.129.16/32')!]
/** What the world's IPv6 is; the rest is reserved, or leads to addresses of IPv4 by a detour. */
const GLOBAL_V6: Range = parseRange('2000::/3')!

/** Addresses of the machine itself. */
export const LOOPBACK: readonly Range[] = [parseRange('127.0.0.0/8')!, parseRange('::1/128')!]

/** An address or a range of them; undefined for what is none. */
export function toRange(text: string): Range | undefined {
  const range = parseRange(text)
  return range?.[0].zone === undefined ? range : undefined
}

/** Whether it is an address as the URL standard and resolvers write it. */
export function isAddress(text: string): boolean {
  return toRange(text) !== undefined && !text.includes('/')
}

/** Loads the package: with the first request, as it takes a while. */
export async function loadAddressKinds(): Promise<AddressKinds> {
  return (await import('ipaddr.js')).default
}

/** Whether the host may connect to it; `named` are ranges that are allowed though they are not public. */
export function isReachable(kinds: AddressKinds, text: string, named: readonly Range[]): boolean {
  if (!isAddress(text)) return false
  const address: Address = unmap(parseAddress(text)!)
  if (named.some((range) => isIn(address, range))) return true
  if (SPECIAL.some((range) => isIn(address, range))) return false
  // By its short form, so that nothing that two readers take for two addresses comes through.
  if (kinds.process(formatAddress(address)).range() !== 'unicast') return false
  return address.groups.length === 2 || isIn(address, GLOBAL_V6)
}
