/** What an option must be. */

/** The class of the error that a faulty value causes. */
export type FaultClass = typeof TypeError | typeof RangeError

/** What one option must be. */
export interface OptionRule {
  /** For people, after `want`. */
  readonly wanted: string
  /** The class of the fault, or undefined when the value will do. Never called with undefined. */
  readonly check: (value: unknown) => FaultClass | undefined
  /** What of a faulty value is wrong, where that can be told better than by the whole value: `has an entry 2 that is none`. */
  readonly explain?: (value: unknown) => string | undefined
  readonly required?: boolean
  /** The value stays out of messages. */
  readonly secret?: boolean
  /** The rules of the members, where the value is an object of options. */
  readonly members?: Readonly<Record<string, OptionRule>>
}

/** Rules by option name; names that are no options are refused by the compiler through `satisfies`. */
export type OptionRules<T> = Readonly<Record<keyof T & string, OptionRule>>

/** Longest delay of a timer: the runtime's timers take 31 bits of milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** A rule for what `test` is true of. */
export function rule(wanted: string, test: (value: unknown) => boolean): OptionRule {
  return { wanted, check: (value) => test(value) ? undefined : TypeError }
}

/** A rule for text that is not empty. */
export function text(wanted = 'non-empty text'): OptionRule {
  return rule(wanted, (value) => typeof value === 'string' && value !== '')
}

/** A rule for a yes or no. */
export function flag(): OptionRule {
  return rule('true or false', (value) => typeof value === 'boolean')
}

/** A rule for a function. */
export function callback(): OptionRule {
  return rule('a function', (value) => typeof value === 'function')
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

/** A rule for milliseconds that a timer can wait. */
export function milliseconds(least: number): OptionRule {
  return integer(least, MAX_TIMER_MS)
}

/** A rule for one of a few texts. */
export function oneOf(...choices: readonly string[]): OptionRule {
  return rule(
    `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
    (value) => typeof value === 'string' && choices.includes(value),
  )
}

/** A rule for an object of further options. */
export function object(members: Readonly<Record<string, OptionRule>>): OptionRule {
  return { ...rule('an object', isObject), members }
}

/** The same rule, for an option that must be there. */
export function required(rule: OptionRule): OptionRule {
  return { ...rule, required: true }
}

/** True for a plain holder of options. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
