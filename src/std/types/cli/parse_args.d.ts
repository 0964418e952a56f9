/** Types of `deno-std/cli/parse_args.js`, as far as they are used. */

export interface ParseOptions {
  /** Names of flags without a value. */
  readonly boolean?: readonly string[] | undefined
  /** Names of options whose value stays text. */
  readonly string?: readonly string[] | undefined
  /** Arguments behind `--` go into a member of that name. */
  readonly '--'?: boolean
  /** Called with each argument that no other option names; false leaves it out. */
  readonly unknown?: ((argument: string, key?: string, value?: unknown) => unknown) | undefined
}

export interface ParsedArgs {
  readonly _: readonly (string | number)[]
  readonly '--'?: readonly string[]
  readonly [name: string]: unknown
}

/** `T` is what the options name. */
export function parseArgs<T extends object = ParsedArgs>(args: readonly string[], options?: ParseOptions): T
