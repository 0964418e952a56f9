import { blameCaller } from '../errors/blame.ts'
import { checkOptions } from '../options/check.ts'
import type { OptionRules } from '../options/rule.ts'

/** Checks the options of a middleware's factory as `checkOptions` does; the stack of its error begins where the factory was called. */
export function checkFactoryOptions<T extends object>(
  factory: (options: never) => unknown,
  options: T,
  rules: OptionRules<T>,
): void {
  blameCaller(factory, () => checkOptions(`make ${factory.name}`, options, rules))
}
