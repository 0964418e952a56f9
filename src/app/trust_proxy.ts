import { isIn, parseAddress, parseRange, type Range, unmap } from '../addresses/address.ts'
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

function toRange(text: string): Range {
  const range = parseRange(text)
  if (range === undefined) {
    throw new TypeError(
      `Cannot make a Router: trustProxy has ${JSON.stringify(text)}, want an address or a CIDR range`,
    )
  }
  if (text.includes('/')) return range
  const address = unmap(range[0])
  return [address, address.groups.length * 16]
}

function contains(range: Range, text: string): boolean {
  const address = parseAddress(text)
  return address !== undefined && isIn(unmap(address), range)
}
