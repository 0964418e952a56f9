/** Rules for options that are tokens of HTTP: names of headers, methods. */
import { type OptionRule, rule } from '../options/rule.ts'

/** A rule for a name in HTTP's sense: a token of RFC 9110, section 5.6.2. */
export function token(what = 'a header name'): OptionRule {
  return rule(what, isToken)
}

/** A rule for an array of tokens, such as header names or methods. */
export function tokens(what: string): OptionRule {
  return rule(`an array of ${what}`, (value) => Array.isArray(value) && value.every(isToken))
}

/** True for a token of RFC 9110, section 5.6.2. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(value)
}
