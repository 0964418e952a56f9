/** Checks options against their rules, once, when what they configure is made. */
import { nearName } from '../text/near_name.ts'
import { type FaultClass, isObject, type OptionRule, type OptionRules } from './rule.ts'

/** What is wrong with one option. */
export interface OptionFault {
  readonly Kind: FaultClass
  /** `worker.poolSize is 0, want an integer from 1 to 1024`. */
  readonly text: string
}

/**
 * Throws a `TypeError` or `RangeError` that names every fault: the option, its value and what was wanted. `attempt` is what fails with
 * it, as in `make a Router`; what else is given by `options` stands in the message as `name`.
 */
export function checkOptions<T extends object>(
  attempt: string,
  options: T,
  rules: OptionRules<T>,
  name = 'options',
): void {
  if (!isObject(options)) throw optionError(attempt, name, options, 'an object')
  throwFaults(attempt, findFaults(options, rules))
}

/** Throws as {@link checkOptions} does, for one value. */
export function checkOption(attempt: string, name: string, value: unknown, rule: OptionRule): void {
  throwFaults(attempt, faultsOf(name, value, rule))
}

/** Throws one error for all faults, of the first one's class; nothing where there are none. */
export function throwFaults(attempt: string, faults: readonly OptionFault[]): void {
  if (faults.length === 0) return
  throw new faults[0]!.Kind(`Cannot ${attempt}: ${faults.map(({ text }) => text).join('; ')}`)
}

/** Every fault of an object of options; `prefix` stands before their names, as in `worker.`. */
export function findFaults(
  options: object,
  rules: Readonly<Record<string, OptionRule>>,
  prefix = '',
): OptionFault[] {
  const faults: OptionFault[] = []
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      faults.push({ Kind: TypeError, text: `${prefix}${name} is no option, ${suggest(name, rules, prefix)}` })
    } else if (value !== undefined) {
      faults.push(...faultsOf(prefix + name, value, rules[name]!))
    }
  }
  for (const [name, { wanted, required }] of Object.entries(rules)) {
    if (!required || (options as Record<string, unknown>)[name] !== undefined) continue
    const state = Object.hasOwn(options, name) ? 'undefined' : 'missing'
    faults.push({ Kind: TypeError, text: `${prefix}${name} is ${state}, want ${wanted}` })
  }
  return faults
}

function faultsOf(name: string, value: unknown, rule: OptionRule): OptionFault[] {
  const Kind = value === undefined ? TypeError : rule.check(value)
  if (Kind === undefined) {
    return rule.members !== undefined && isObject(value) ? findFaults(value, rule.members, `${name}.`) : []
  }
  const shown = rule.secret ? veil(value) : show(value)
  return [{ Kind, text: `${name} ${rule.explain?.(value) ?? `is ${shown}, want ${rule.wanted}`}` }]
}

function suggest(name: string, rules: Readonly<Record<string, OptionRule>>, prefix: string): string {
  const names = Object.keys(rules)
  const near = nearName(name, names)
  return near === undefined ? `want one of ${names.join(', ')}` : `did you mean ${prefix}${near}`
}

/** The error for one option that does not go with the others. */
export function optionError(
  attempt: string,
  name: string,
  value: unknown,
  wanted: string,
  Kind: FaultClass = TypeError,
): Error {
  return new Kind(`Cannot ${attempt}: ${name} is ${show(value)}, want ${wanted}`)
}

function show(value: unknown): string {
  return Deno.inspect(value, { depth: 1, breakLength: Infinity, strAbbreviateSize: 80, iterableLimit: 5 })
}

function veil(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`
  if (Array.isArray(value)) return `an array of ${value.length}`
  return value === null || value === undefined ? String(value) : `of type ${typeof value}`
}
