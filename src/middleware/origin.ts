import { stateOf } from '../context/internals.ts'
import type { Context } from '../context/types.ts'
import type { OptionRule } from '../options/rule.ts'

/**
 * The origin that the client addressed. Behind a trusted proxy the scheme and host are those of X-Forwarded-Proto and
 * X-Forwarded-Host. Undefined when they make no origin.
 */
export function ownOrigin(ctx: Context): string | undefined {
  const { host, peer, request } = stateOf(ctx)
  const url = URL.parse(request.url)
  if (url === null) return undefined
  if (peer === undefined || !host.isTrustedProxy(ctx.get.ip({ direct: true }) ?? '', 0)) return url.origin
  const forwardedProto = last(ctx.get.header('x-forwarded-proto'))
  const forwardedHost = last(ctx.get.header('x-forwarded-host'))
  if (forwardedProto === undefined && forwardedHost === undefined) return url.origin
  return toOrigin(`${forwardedProto ?? url.protocol.slice(0, -1)}://${forwardedHost ?? url.host}`)
}

/** The origin as browsers write it; undefined when `text` is not an http(s) origin, with or without a slash at its end. */
export function toOrigin(text: string): string | undefined {
  // A star in a host would parse, and match nothing.
  const url = text.includes('*') ? null : URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  return url.href === `${url.origin}/` ? url.origin : undefined
}

/** A rule for one origin or an array of them. `star` also takes `*`, `callable` also a function. */
export function originsRule(options: { star?: boolean; callable?: boolean }): OptionRule {
  const also = [options.star ? '"*"' : '', options.callable ? 'a function' : ''].filter((part) => part !== '')
  const fine = (value: unknown) =>
    typeof value === 'string' && ((options.star && value === '*') || toOrigin(value) !== undefined)
  return {
    wanted: ['an origin such as "https://example.com"', 'an array of them', ...also].join(', or '),
    check: (value) => {
      if (typeof value === 'function') return options.callable ? undefined : TypeError
      return (Array.isArray(value) ? value : [value]).every(fine) ? undefined : TypeError
    },
  }
}

/** Checked origins, in the form that browsers send. */
export function toOriginSet(origins: string | readonly string[]): ReadonlySet<string> {
  return new Set(
    (typeof origins === 'string' ? [origins] : origins).map((origin) => toOrigin(origin) ?? origin),
  )
}

// A proxy appends to a list; its own word, the nearest one, comes last.
function last(list: string | undefined): string | undefined {
  return list?.split(',').at(-1)?.trim()
}
