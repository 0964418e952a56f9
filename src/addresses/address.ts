/**
 * IP addresses and ranges of them. ipaddr.js knows more of them; as a module of CommonJS it has Deno load Node's loader, which takes as
 * long as a sixth of Mayfly, so only who asks what an address is for loads it.
 */

/** An address. */
export interface Address {
  /** Numbers of 16 bits: two of IPv4, eight of IPv6. */
  readonly groups: readonly number[]
  /** Interface of an IPv6 address that is the link's own, behind `%`. */
  readonly zone: string | undefined
}

/** Addresses that begin with the same bits. */
export type Range = readonly [address: Address, bits: number]

/** IPv4 in its only short form. */
const IPV4 = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/
/** What may be IPv6, which the URL standard then reads; behind it a zone. */
const IPV6 = /^([\da-f:.]{2,45})(?:%([\da-z]+))?$/i
/** Longest text of an address. */
const LONGEST = 80

/** The address that a text is; undefined for one that is none. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > LONGEST) return undefined
  if (IPV4.test(text)) {
    const [a, b, c, d] = text.split('.').map(Number)
    return { groups: [a! << 8 | b!, c! << 8 | d!], zone: undefined }
  }
  const [, digits, zone] = IPV6.exec(text) ?? []
  const host = digits === undefined ? undefined : URL.parse(`http://[${digits}]/`)?.hostname
  return host === undefined ? undefined : { groups: toGroups(host.slice(1, -1)), zone }
}

/** The groups of an IPv6 address as the URL standard writes it. */
function toGroups(text: string): number[] {
  const [left = [], right = []] = text.split('::').map((part) =>
    part === '' ? [] : part.split(':').map((group) => parseInt(group, 16))
  )
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/** IPv4 in the form of IPv6 as IPv4; any other address as it is. */
export function unmap(address: Address): Address {
  const { groups } = address
  const isMapped = groups.length === 8 && groups[5] === 0xffff &&
    groups.slice(0, 5).every((group) => group === 0)
  return isMapped ? { groups: groups.slice(6), zone: undefined } : address
}

/** An address in its short form (RFC 5952). */
export function formatAddress({ groups, zone }: Address): string {
  if (isIPv4({ groups })) return groups.flatMap((group) => [group >> 8, group & 255]).join('.')
  const text = groups.map((group) => group.toString(16)).join(':')
  const short = new URL(`http://[${text}]/`).hostname.slice(1, -1)
  return zone === undefined ? short : `${short}%${zone}`
}

/** Whether it is of IPv4. */
export function isIPv4({ groups }: Pick<Address, 'groups'>): boolean {
  return groups.length === 2
}

/** An address or, with a slash and bits behind it, a range of them; undefined for what is none. */
export function parseRange(text: string): Range | undefined {
  const [first, length, ...more] = text.split('/')
  const address = parseAddress(first!)
  if (address === undefined || more.length > 0) return undefined
  const most = address.groups.length * 16
  if (length === undefined) return [address, most]
  return /^\d{1,3}$/.test(length) && Number(length) <= most ? [address, Number(length)] : undefined
}

/** Whether an address is in a range; one of the other kind never is. */
export function isIn({ groups }: Address, [{ groups: first }, bits]: Range): boolean {
  if (groups.length !== first.length) return false
  return groups.every((group, at) => {
    const behind = 16 - Math.max(0, Math.min(16, bits - 16 * at))
    return group >> behind === first[at]! >> behind
  })
}
