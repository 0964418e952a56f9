/** What a run may take. */
import {
  DEFAULT_RULES,
  type IsolateDefaults,
  type IsolateLimits,
  type IsolateRuntime,
  LIMIT_RULES,
  OUTPUT_RULE,
  resolveIsolateOptions,
} from '../isolate/plan/options.ts'
import type { HandlerOptions } from '../isolate/plan/program.ts'
import { checkOptions } from '../options/check.ts'
import { integer, type OptionRules } from '../options/rule.ts'

/** Limits of one run; those that are left out are the sandbox's, or the defaults of isolated routes. */
export interface SandboxLimits extends IsolateLimits {
  /** Milliseconds by the clock on the wall. Default 1000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds of a CPU. Default: no limit but `timeoutMs`. */
  readonly cpuMs?: number | undefined
  /** Memory in MiB. Default 128. */
  readonly memoryMb?: number | undefined
  /** Bytes of a response's body, and of a value with all its buffers. Default 8 MiB. */
  readonly outputBytes?: number | undefined
  /** Bytes of a value without its buffers: the host reads them while it does nothing else. Default 1 MiB. */
  readonly valueBytes?: number | undefined
}

/** Limits with their defaults. */
export interface ResolvedLimits {
  /** As a program of the machines has them; its `timeoutMs` is the default of a run. */
  readonly options: HandlerOptions
  readonly valueBytes: number
}

const VALUE_BYTES = 1 << 20
/** What limits must be. */
export const SANDBOX_LIMIT_RULES: OptionRules<SandboxLimits> = {
  timeoutMs: DEFAULT_RULES.timeoutMs,
  cpuMs: DEFAULT_RULES.cpuMs,
  memoryMb: DEFAULT_RULES.memoryMb,
  outputBytes: OUTPUT_RULE,
  valueBytes: integer(1, 1 << 30),
  ...LIMIT_RULES,
}

/** The limits among options of isolated routes. */
export function toLimits(
  { timeoutMs, cpuMs, memoryMb, limits }: Pick<
    IsolateDefaults,
    'timeoutMs' | 'cpuMs' | 'memoryMb' | 'limits'
  >,
): SandboxLimits {
  return dropUndefined({ timeoutMs, cpuMs, memoryMb, ...limits })
}

/** Sets of limits that are kept. */
const MAX_KNOWN = 64

/** Limits as they were given, and what they mean: looking at them takes longer than a small run. */
export class KnownLimits {
  readonly #runtime: IsolateRuntime
  readonly #defaults: SandboxLimits
  readonly #known = new Map<string, ResolvedLimits>()

  constructor(runtime: IsolateRuntime, defaults: SandboxLimits) {
    this.#runtime = runtime
    this.#defaults = defaults
  }

  /** As {@linkcode resolveLimits}. */
  resolve(given: SandboxLimits): ResolvedLimits {
    if (!Object.values(given).every(Number.isFinite)) {
      return resolveLimits(this.#runtime, given, this.#defaults)
    }
    const key = JSON.stringify(given)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const limits = resolveLimits(this.#runtime, given, this.#defaults)
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(key, limits)
    return limits
  }
}

/** Limits of a run: `given` over `defaults`. Throws `TypeError` or `RangeError` that names each fault. */
export function resolveLimits(
  runtime: IsolateRuntime,
  given: SandboxLimits,
  defaults: SandboxLimits = {},
): ResolvedLimits {
  checkOptions('use limits', given, SANDBOX_LIMIT_RULES, 'limits')
  const all = { ...dropUndefined(defaults), ...dropUndefined(given) }
  const { timeoutMs, cpuMs, memoryMb, outputBytes, valueBytes = VALUE_BYTES, ...limits } = all
  const value = { runtime, warmup: 0, timeoutMs, cpuMs, memoryMb, outputBytes, limits }
  const { warmup: _, ...options } = resolveIsolateOptions('a program', value)
  return { options: { ...options, runtime }, valueBytes }
}

/** The limits of one call, which may have a time of its own. Throws as {@linkcode resolveLimits}. */
export function withTimeout(
  limits: ResolvedLimits,
  { timeoutMs }: { readonly timeoutMs?: number | undefined },
): ResolvedLimits {
  if (timeoutMs === undefined) return limits
  const { runtime } = limits.options
  const checked = resolveLimits(runtime, { timeoutMs }).options.timeoutMs
  return { ...limits, options: { ...limits.options, timeoutMs: checked } }
}

function dropUndefined(
  limits: { readonly [Name in keyof SandboxLimits]: SandboxLimits[Name] | undefined },
): SandboxLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}
