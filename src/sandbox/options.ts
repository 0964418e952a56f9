/** Options of a sandbox. */
import type { IsolateRuntime } from '../isolate/plan/options.ts'
import { resolveLimits, type SandboxLimits } from './limits.ts'

/** Options of {@linkcode Sandbox.open}. */
export interface SandboxOptions {
  /** Machines that run at the same time. Default: the machine's cores. */
  readonly vms?: number
  /** Runs that may wait. Default 1024. */
  readonly queue?: number
  /** MiB for runners, programs and their machines. Default: no limit. */
  readonly memoryBudgetMb?: number
  /** What runs the code: `deno`, all of stock Deno; `core`, a small interpreter that starts sooner. Default `deno`. */
  readonly runtime?: IsolateRuntime
  /** Limits of runs that say no others. */
  readonly limits?: SandboxLimits
  /** Bytes of the body of a request. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** Uses of a program after which it gets a snapshot of its own; 0: never. Default 20. */
  readonly promoteAfter?: number
  /** Programs that are kept by name; over it the one that was not used for the longest time is forgotten, and asked for again. Default 10 000. */
  readonly programs?: number
  /** MiB of the code of programs that are kept by name; over it the loaders of those that were not used for the longest time are asked again. Default 256. */
  readonly codeMb?: number
  /** Programs that have a snapshot of their own at the same time. Default 256. */
  readonly promoted?: number
}

/** Options with their defaults. */
export type ResolvedSandboxOptions =
  & Readonly<Required<Omit<SandboxOptions, 'memoryBudgetMb'>>>
  & { readonly memoryBudgetMb: number | undefined }

const LEAST: Readonly<Partial<Record<keyof SandboxOptions, number>>> = {
  vms: 1,
  queue: 1,
  memoryBudgetMb: 1,
  maxBodyBytes: 0,
  promoteAfter: 0,
  programs: 1,
  codeMb: 1,
  promoted: 1,
}

/** Checks the options and fills in the defaults. Throws `TypeError` or `RangeError` that says what is wrong. */
export function resolveSandboxOptions(
  options: { readonly [Name in keyof SandboxOptions]: SandboxOptions[Name] | undefined } = {},
): ResolvedSandboxOptions {
  for (const [name, value] of Object.entries(options)) {
    if (name === 'runtime' || name === 'limits' || value === undefined) continue
    const least = LEAST[name as keyof SandboxOptions]
    if (least === undefined) {
      throw new TypeError(
        `Cannot open a sandbox: ${name} is no option, want one of ${
          Object.keys(LEAST).join(' ')
        } runtime limits`,
      )
    }
    if (!Number.isSafeInteger(value) || value as number < least) {
      throw new RangeError(
        `Cannot open a sandbox: ${name} is ${Deno.inspect(value)}, want an integer of at least ${least}`,
      )
    }
  }
  const { runtime = 'deno', limits = {} } = options
  resolveLimits(runtime, limits)
  return {
    vms: options.vms ?? navigator.hardwareConcurrency,
    queue: options.queue ?? 1024,
    memoryBudgetMb: options.memoryBudgetMb,
    runtime,
    limits,
    maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
    promoteAfter: options.promoteAfter ?? 20,
    programs: options.programs ?? 10_000,
    codeMb: options.codeMb ?? 256,
    promoted: options.promoted ?? 256,
  }
}
