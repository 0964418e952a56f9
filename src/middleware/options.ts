/** Checks of middleware options, made once when a middleware is created. */

type Fault = typeof TypeError | typeof RangeError

/** What one option must be. */
export interface OptionRule {
  readonly wanted: string
  /** The class of the fault, or undefined when the value will do. Never called with undefined. */
  readonly check: (value: unknown) => Fault | undefined
  readonly required?: boolean
  /** The value stays out of messages. */
  readonly secret?: boolean
}

/** Rules by option name; `never` keys are checked by the compiler through `satisfies`. */
export type OptionRules<T> = Readonly<Record<keyof T & string, OptionRule>>

/** Throws a `TypeError` or `RangeError` that names the first faulty option, its value and what was wanted. */
export function checkOptions<T extends object>(factory: string, options: T, rules: OptionRules<T>): void {
  if (!isObject(options)) {
    throw new TypeError(`Cannot make ${factory}: options is ${show(options)}, want an object`)
  }
  const names = Object.keys(rules)
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(rules, name)) {
      throw new TypeError(`Cannot make ${factory}: ${name} is no option, want one of ${names.join(', ')}`)
    }
  }
  for (const [name, rule] of Object.entries<OptionRule>(rules)) {
    const value = (options as Record<string, unknown>)[name]
    if (value === undefined && !rule.required) continue
    const Kind = value === undefined ? TypeError : rule.check(value)
    if (Kind !== undefined) throw optionFault(factory, name, value, rule.wanted, Kind, rule.secret)
  }
}

/** The error for one option; `secret` keeps the value itself out of it. */
export function optionFault(
  factory: string,
  name: string,
  value: unknown,
  wanted: string,
  Kind: Fault = TypeError,
  secret = false,
): Error {
  return new Kind(`Cannot make ${factory}: ${name} is ${secret ? veil(value) : show(value)}, want ${wanted}`)
}

/** A rule for text that is not empty. */
export function text(wanted = 'non-empty text'): OptionRule {
  return { wanted, check: (value) => typeof value === 'string' && value !== '' ? undefined : TypeError }
}

/** A rule for a yes or no. */
export function flag(): OptionRule {
  return { wanted: 'true or false', check: (value) => typeof value === 'boolean' ? undefined : TypeError }
}

/** A rule for a function. */
export function callback(): OptionRule {
  return { wanted: 'a function', check: (value) => typeof value === 'function' ? undefined : TypeError }
}

/** A rule for an integer from `least` to `most`. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): OptionRule {
  const wanted = most === Number.MAX_SAFE_INTEGER
    ? `an integer of at least ${least}`
    : `an integer from ${least} to ${most}`
  return {
    wanted,
    check: (value) => {
      if (typeof value !== 'number') return TypeError
      return Number.isSafeInteger(value) && value >= least && value <= most ? undefined : RangeError
    },
  }
}

/** A rule for one of a few texts. */
export function oneOf(...choices: readonly string[]): OptionRule {
  return {
    wanted: `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
    check: (value) => typeof value === 'string' && choices.includes(value) ? undefined : TypeError,
  }
}

/** A rule for a name in HTTP's sense: a token of RFC 9110, section 5.6.2. */
export function token(what = 'a header name'): OptionRule {
  return { wanted: what, check: (value) => isToken(value) ? undefined : TypeError }
}

/** A rule for an array of tokens, such as header names or methods. */
export function tokens(what: string): OptionRule {
  return {
    wanted: `an array of ${what}`,
    check: (value) => Array.isArray(value) && value.every(isToken) ? undefined : TypeError,
  }
}

/** The same rule, for an option that must be there. */
export function required(rule: OptionRule): OptionRule {
  return { ...rule, required: true }
}

/** True for a token of RFC 9110, section 5.6.2. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(value)
}

/** True for a plain holder of options. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function show(value: unknown): string {
  return Deno.inspect(value, { depth: 1, breakLength: Infinity, strAbbreviateSize: 80, iterableLimit: 5 })
}

function veil(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`
  if (Array.isArray(value)) return `an array of ${value.length}`
  return value === null || value === undefined ? String(value) : `of type ${typeof value}`
}
