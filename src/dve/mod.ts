/** The DVE template engine. It stands alone: no HTTP, no events, nothing but files and strings. */
export {
  Engine,
  type EngineEvent,
  type EngineHooks,
  type EngineOptions,
  type StreamOptions,
  type Template,
} from './engine.ts'
export { type EngineLimits, FILTERS_RULE, LIMIT_DEFAULTS, LIMIT_RULES } from './limits.ts'
export type { Filter } from './emit_expression.ts'
export { type LimitName, type Source, TemplateError, type TemplateErrorOptions } from './error.ts'
