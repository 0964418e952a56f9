/** Options of a sandbox. */
import {
  DEFAULT_RULES,
  defaultMachines,
  type IsolateRuntime,
  MACHINE_RULES,
} from '../isolate/plan/options.ts'
import { WEIGHT_MAX } from '../isolate/plan/native_tables.ts'
import { type ParkedLimits, type ParkedOptions, resolveParked } from '../isolate/machines/machines.ts'
import { checkOptions } from '../options/check.ts'
import { flag, integer, object, type OptionRule, type OptionRules } from '../options/rule.ts'
import { SANDBOX_LIMIT_RULES, type SandboxLimits } from './limits.ts'
import type { AllSet } from '../options/resolve.ts'

/** Options of {@linkcode Sandbox.open}. */
export interface SandboxOptions {
  /** Machines that run at the same time. Default: the machine's cores. */
  readonly vms?: number | undefined
  /** Runs that may wait. Default 1024. */
  readonly queue?: number | undefined
  /** Runs that may ask the host and are under way at once, of one program and in all: each keeps its machine while it waits. One more is refused as by a full queue. Default 256 and 1024. `eachMb` and `allMb` are MiB that those machines hold while they wait. Default 1024 and 4096. */
  readonly parked?: ParkedOptions | undefined
  /** MiB for runners, programs and their machines. Default: no limit. */
  readonly memoryBudgetMb?: number | undefined
  /** What runs the code: `deno`, all of stock Deno; `core`, a small interpreter that starts sooner. Default `deno`. */
  readonly runtime?: IsolateRuntime | undefined
  /** Limits of runs that say no others. */
  readonly limits?: SandboxLimits | undefined
  /** Bytes of the body of a request. Default 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Responses of programs say in `Server-Timing` how long they waited, ran and were parked. Default false. */
  readonly serverTiming?: boolean | undefined
  /** Uses of a program after which it gets a snapshot of its own; 0: never. Default 20. */
  readonly promoteAfter?: number | undefined
  /** Programs that are kept by name; over it the one that was not used for the longest time is forgotten, and asked for again. Default 10 000. */
  readonly programs?: number | undefined
  /** MiB of the code of programs that are kept by name; over it the loaders of those that were not used for the longest time are asked again. Default 256. */
  readonly codeMb?: number | undefined
  /** Programs that have a snapshot of their own at the same time. Default 256. */
  readonly promoted?: number | undefined
}

/** Options with their defaults. */
export type ResolvedSandboxOptions =
  & Readonly<AllSet<Omit<SandboxOptions, 'memoryBudgetMb' | 'parked'>>>
  & { readonly memoryBudgetMb: number | undefined; readonly parked: ParkedLimits }

const RULES: OptionRules<SandboxOptions> = {
  ...MACHINE_RULES,
  runtime: DEFAULT_RULES.runtime,
  limits: object(SANDBOX_LIMIT_RULES),
  maxBodyBytes: integer(0),
  serverTiming: flag(),
  promoteAfter: integer(0),
  programs: integer(1),
  codeMb: integer(1),
  promoted: integer(1),
}

/** What the weight of a program must be. */
export const WEIGHT_RULE: OptionRule = integer(1, WEIGHT_MAX)

/** Checks the options and fills in the defaults. Throws `TypeError` or `RangeError` that says what is wrong. */
export function resolveSandboxOptions(
  options: { readonly [Name in keyof SandboxOptions]: SandboxOptions[Name] | undefined } = {},
): ResolvedSandboxOptions {
  checkOptions('open a sandbox', options, RULES)
  return {
    vms: options.vms ?? defaultMachines(),
    queue: options.queue ?? 1024,
    parked: resolveParked(options.parked),
    memoryBudgetMb: options.memoryBudgetMb,
    runtime: options.runtime ?? 'deno',
    limits: options.limits ?? {},
    maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
    serverTiming: options.serverTiming ?? false,
    promoteAfter: options.promoteAfter ?? 20,
    programs: options.programs ?? 10_000,
    codeMb: options.codeMb ?? 256,
    promoted: options.promoted ?? 256,
  }
}
