import { attachValidated, emitEvent, stateOf, wantsEvent } from '../context/internals.ts'
import type { ValidateOptions, ValidateSource } from '../context/schema_types.ts'
import type { Awaitable, Context, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { checkFactoryOptions } from './factory_options.ts'
import type { OptionRule, OptionRules } from '../options/rule.ts'
import { isStandardSchema, issuePath } from './standard_schema.ts'

/** One thing that is wrong with a request, as the client reads it. */
export interface ValidateIssue {
  readonly source: ValidateSource
  /** Keys and array places from the source down. */
  readonly path: (string | number)[]
  readonly message: string
}

const SCHEMA_RULE: OptionRule = {
  wanted: 'a Standard Schema v1, such as one of Zod, Valibot or ArkType',
  check: (value) => isStandardSchema(value) ? undefined : TypeError,
}

const RULES: OptionRules<ValidateOptions> = {
  params: SCHEMA_RULE,
  query: SCHEMA_RULE,
  headers: SCHEMA_RULE,
  cookies: SCHEMA_RULE,
  body: SCHEMA_RULE,
  json: SCHEMA_RULE,
}

const READ: Readonly<Record<ValidateSource, (ctx: Context) => Awaitable<unknown>>> = {
  params: (ctx) => ({ ...ctx.get.param() }),
  query: readQuery,
  headers: (ctx) => ({ ...ctx.get.header() }),
  cookies: (ctx) => ctx.get.cookie(),
  body: (ctx) => ctx.get.body(),
  json: (ctx) => ctx.get.json(),
}

/** Most issues in an answer. */
const MOST_ISSUES = 100

/**
 * Checks parts of the request by schemas and gives what they made of them to `ctx.get.validated()`; several of these on one
 * route add up. 422 with all issues when a schema refuses, 400 when the body cannot even be parsed. Emits
 * `validate:failed`.
 */
export function validate(schemas: ValidateOptions): Middleware {
  checkFactoryOptions(validate, schemas, RULES)
  const sources = (Object.keys(RULES) as ValidateSource[]).filter((source) => schemas[source] !== undefined)
  if (sources.length === 0) {
    throw new TypeError(`Cannot make validate: no schema given, want one of ${Object.keys(RULES).join(', ')}`)
  }
  return async function validate(ctx, next) {
    const method = ctx.get.method()
    const bodiless = method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
    const values: Partial<Record<ValidateSource, unknown>> = {}
    const issues: ValidateIssue[] = []
    for (const source of sources) {
      if (bodiless && (source === 'body' || source === 'json')) continue
      const result = await schemas[source]!['~standard'].validate(await READ[source](ctx))
      if (result.issues === undefined) values[source] = result.value
      else issues.push(...result.issues.map((issue) => toIssue(source, issue)))
    }
    if (issues.length > 0) refuse(ctx, issues)
    attachValidated(ctx, { ...stateOf(ctx).validated?.value as object | undefined, ...values })
    return next()
  }
}

function toIssue(source: ValidateSource, issue: Parameters<typeof issuePath>[0]): ValidateIssue {
  return { source, path: issuePath(issue), message: issue.message }
}

function refuse(ctx: Context, issues: readonly ValidateIssue[]): never {
  if (wantsEvent(ctx, 'validate:failed')) emitEvent(ctx, 'validate:failed', { reason: 'invalid', issues })
  throw new HttpError(422, 'The request is not valid', {
    type: 'validation-failed',
    details: { issues: issues.slice(0, MOST_ISSUES) },
  })
}

function readQuery(ctx: Context): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (const name of Object.keys(ctx.get.query())) {
    const values = ctx.get.queries(name)
    // Defined, not assigned: a query may name __proto__.
    Object.defineProperty(record, name, {
      value: values.length === 1 ? values[0] : values,
      configurable: true,
      enumerable: true,
      writable: true,
    })
  }
  return record
}
