import ipaddr from 'ipaddr.js'
import { emitEvent, wantsEvent } from '../context/internals.ts'
import type { Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import type { OptionRule, OptionRules } from '../options/rule.ts'

/** Options of {@linkcode ip}: one list or both. An entry is an address, a CIDR range, or `*` for every address. */
export interface IpOptions {
  /** Only these pass. */
  readonly whitelist?: readonly string[] | undefined
  /** These never pass, whatever `whitelist` says. */
  readonly blacklist?: readonly string[] | undefined
}

type Range = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

const LIST_RULE: OptionRule = {
  wanted: 'a non-empty array of addresses, CIDR ranges such as "10.0.0.0/8", or "*"',
  check: (value) =>
    Array.isArray(value) && value.length > 0 &&
      value.every((entry) => entry === '*' || toRange(entry) !== undefined)
      ? undefined
      : TypeError,
}

const RULES: OptionRules<IpOptions> = { whitelist: LIST_RULE, blacklist: LIST_RULE }

/**
 * Lets requests pass by their client's address, `ctx.get.ip()`; 403 for others and for those without an address. Emits
 * `ip:denied`.
 */
export function ip(options: IpOptions): Middleware {
  checkFactoryOptions(ip, options, RULES)
  const { whitelist, blacklist } = options
  if (whitelist === undefined && blacklist === undefined) {
    throw optionError('make ip', 'whitelist', undefined, `${LIST_RULE.wanted}, or a blacklist`)
  }
  const isWhite = whitelist === undefined ? undefined : toMatcher(whitelist)
  const isBlack = blacklist === undefined ? undefined : toMatcher(blacklist)
  return function ip(ctx, next) {
    const address = ctx.get.ip()
    const reason = address === undefined
      ? 'unknown'
      : isBlack?.(address)
      ? 'blacklist'
      : isWhite?.(address) === false
      ? 'whitelist'
      : undefined
    if (reason === undefined) return next()
    if (wantsEvent(ctx, 'ip:denied')) emitEvent(ctx, 'ip:denied', { reason, ip: address })
    throw new HttpError(403)
  }
}

/** A test for addresses; IPv4 in IPv6 form counts as IPv4, on both sides. The entries must have been checked. */
export function toMatcher(entries: readonly string[]): (address: string) => boolean {
  if (entries.includes('*')) return () => true
  const ranges = entries.map((entry) => toRange(entry)!)
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return ranges.some((range) => range[0].kind() === address.kind() && address.match(range))
  }
}

// The package also reads "10.1" and "0x7f.1" as addresses; in a guard's list those are slips.
function toRange(entry: unknown): Range | undefined {
  if (typeof entry !== 'string') return undefined
  const [text, length, ...more] = entry.split('/')
  const isV4 = ipaddr.IPv4.isValidFourPartDecimal(text!)
  if (more.length > 0 || (!isV4 && !ipaddr.IPv6.isValid(text!))) return undefined
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined
  const address = ipaddr.parse(text!)
  const most = isV4 ? 32 : 128
  const bits = length === undefined ? most : Number(length)
  if (bits > most) return undefined
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96]
  }
  return [address, bits]
}
