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

/** Schemas of the `validate` middleware, at least one: what each part of the request must be. */
export interface ValidateOptions {
  /** The body by its Content-Type; not asked of GET, HEAD and OPTIONS. */
  readonly body?: StandardSchema | undefined
  /** The body as JSON, whatever its Content-Type; not asked of GET, HEAD and OPTIONS. */
  readonly json?: StandardSchema | undefined
  /** A record of the query; a name that repeats gives an array. */
  readonly query?: StandardSchema | undefined
  /** A record of the route's parameters. */
  readonly params?: StandardSchema | undefined
  /** A record of the headers, names in lower case. */
  readonly headers?: StandardSchema | undefined
  /** A record of the cookies. */
  readonly cookies?: StandardSchema | undefined
}

/** A part of the request that can be validated. */
export type ValidateSource = keyof ValidateOptions

/** What `ctx.get.validated` gives for these schemas: `ctx.get.validated(schemas)`. */
export type Validated<Schemas extends ValidateOptions> = {
  -readonly [Source in keyof Schemas & ValidateSource]: SchemaOutput<Schemas[Source]>
}
