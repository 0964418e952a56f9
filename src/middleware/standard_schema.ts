/** The parts of Standard Schema v1 (standardschema.dev) that validation needs. Zod, Valibot, ArkType and others have them. */

/** A schema of any library. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** The outcome of a validation. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** What is wrong, and where. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The type that a schema gives. */
export type SchemaOutput<S> = S extends StandardSchema<infer _Input, infer Output> ? Output : never

/** True for a Standard Schema v1, which may be an object or a function. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return typeof standard === 'object' && standard !== null && standard.version === 1 &&
    typeof standard.validate === 'function'
}

/** An issue's path with plain keys: text, or numbers for places in arrays. */
export function issuePath(issue: StandardIssue): (string | number)[] {
  return (issue.path ?? []).map((part) => {
    const key = typeof part === 'object' ? part.key : part
    return typeof key === 'symbol' ? String(key) : key
  })
}
