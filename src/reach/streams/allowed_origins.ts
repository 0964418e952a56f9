import { toOrigin } from '../../context/own_origin.ts'
import type { OptionRule } from '../../options/rule.ts'

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
