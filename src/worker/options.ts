import { resolve, toFileUrl } from '@std/path'
import { checkOptions } from '../options/check.ts'
import { withDefaults } from '../options/resolve.ts'
import { integer, milliseconds, type OptionRules, required, rule } from '../options/rule.ts'
import type { WorkerPoolOptions } from './types.ts'

/** Options with every default filled in; `script` is an absolute URL. */
export interface ResolvedPoolOptions {
  readonly script: string
  readonly poolSize: number
  readonly taskTimeoutMs: number
  readonly maxQueueDepth: number
}

const MAX_WORKERS = 1024

/** What a pool's options must be. */
export const POOL_RULES: OptionRules<WorkerPoolOptions> = {
  scriptURL: required(
    rule('a URL or a path', (value) => (typeof value === 'string' && value !== '') || value instanceof URL),
  ),
  poolSize: integer(1, MAX_WORKERS),
  taskTimeoutMs: milliseconds(1),
  maxQueueDepth: integer(1),
}

/** Checks the options. Throws `TypeError` or `RangeError` naming the options, their values and what was wanted. */
export function resolvePoolOptions(options: WorkerPoolOptions): ResolvedPoolOptions {
  checkOptions('make a worker pool', options, POOL_RULES)
  const { scriptURL, ...others } = withDefaults(options, {
    poolSize: Math.min(navigator.hardwareConcurrency, MAX_WORKERS),
    taskTimeoutMs: 5000,
    maxQueueDepth: 8,
  })
  return { script: scriptAddress(scriptURL), ...others }
}

function scriptAddress(scriptURL: string | URL): string {
  if (scriptURL instanceof URL) return scriptURL.href
  // One letter before the colon is a Windows drive, not a scheme.
  if (/^[a-z][a-z0-9+.-]+:/i.test(scriptURL)) return new URL(scriptURL).href
  return toFileUrl(resolve(scriptURL)).href
}
