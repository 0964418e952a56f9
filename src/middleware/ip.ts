import { isIn, parseAddress, parseRange, type Range, unmap } from '../addresses/address.ts'
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
    const parsed = parseAddress(text)
    if (parsed === undefined) return false
    const address = unmap(parsed)
    return ranges.some((range) => isIn(address, range))
  }
}

function toRange(entry: unknown): Range | undefined {
  const range = typeof entry === 'string' ? parseRange(entry) : undefined
  if (range === undefined) return undefined
  const [address, bits] = range
  const plain = unmap(address)
  return plain === address || bits < 96 ? range : [plain, bits - 96]
}
