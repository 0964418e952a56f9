/** What an engine's limits and filters may be. */
import { integer, isObject, type OptionRule, type OptionRules } from '../options/rule.ts'
import type { AllSet } from '../options/resolve.ts'

/** Limits of an engine. All are whole numbers from 1. */
export interface EngineLimits {
  /** Bodies of one loop. Default 100 000. */
  maxIterations?: number | undefined
  /** Loop bodies and includes of a whole render. Default 1 000 000. */
  maxRenderIterations?: number | undefined
  /**
   * Characters (UTF-16 units) of a rendered page. Default 5 000 000 for strings; a stream, which never holds its page, is
   * bounded only when the limit is given.
   */
  maxOutputSize?: number | undefined
  /** Characters (UTF-16 units) of one template. Default 1 000 000. */
  maxTemplateSize?: number | undefined
}

/** Limits where none are given. */
export const LIMIT_DEFAULTS: Readonly<AllSet<EngineLimits>> = Object.freeze({
  maxIterations: 100_000,
  maxRenderIterations: 1_000_000,
  maxOutputSize: 5_000_000,
  maxTemplateSize: 1_000_000,
})

/** What the limits must be. */
export const LIMIT_RULES: OptionRules<EngineLimits> = {
  maxIterations: integer(1),
  maxRenderIterations: integer(1),
  maxOutputSize: integer(1),
  maxTemplateSize: integer(1),
}

const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

/** What the filters must be: functions by names that templates can write. */
export const FILTERS_RULE: OptionRule = {
  wanted: 'an object of functions',
  check: (value) => isObject(value) && findBadFilter(value) === undefined ? undefined : TypeError,
  explain: (value) => {
    const bad = isObject(value) ? findBadFilter(value) : undefined
    if (bad === undefined) return undefined
    const [name, filter] = bad
    return NAME.test(name)
      ? `has ${name}, which is ${typeof filter}, want a function`
      : `has ${JSON.stringify(name)}, want an identifier as name`
  },
}

function findBadFilter(filters: Record<string, unknown>): [name: string, filter: unknown] | undefined {
  return Object.entries(filters).find(([name, filter]) => !NAME.test(name) || typeof filter !== 'function')
}
