import { resolve, toFileUrl } from '@std/path'
import type { WorkerPoolOptions } from './types.ts'

/** Options with every default filled in; `script` is an absolute URL. */
export interface ResolvedPoolOptions {
  readonly script: string
  readonly poolSize: number
  readonly taskTimeoutMs: number
  readonly maxQueueDepth: number
}

/** Longest delay of a timer: the runtime's timers take 31 bits of milliseconds. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Checks the options. Throws `TypeError` or `RangeError` naming the option, its value and the value wanted. */
export function resolvePoolOptions(options: WorkerPoolOptions): ResolvedPoolOptions {
  return {
    script: scriptAddress(options.scriptURL),
    poolSize: positive('poolSize', options.poolSize ?? navigator.hardwareConcurrency, 1024),
    taskTimeoutMs: positive('taskTimeoutMs', options.taskTimeoutMs ?? 5000, MAX_TIMEOUT_MS),
    maxQueueDepth: positive('maxQueueDepth', options.maxQueueDepth ?? 8, Number.MAX_SAFE_INTEGER),
  }
}

/** `value` when it is an integer from 1 to `max`. */
export function positive(name: string, value: unknown, max: number, act = 'make a worker pool'): number {
  if (typeof value !== 'number') {
    throw new TypeError(`Cannot ${act}: ${name} is ${typeof value}, want an integer from 1 to ${max}`)
  }
  if (!Number.isInteger(value) || value < 1 || value > max) {
    throw new RangeError(`Cannot ${act}: ${name} is ${value}, want an integer from 1 to ${max}`)
  }
  return value
}

function scriptAddress(scriptURL: unknown): string {
  if (scriptURL instanceof URL) return scriptURL.href
  if (typeof scriptURL !== 'string' || scriptURL === '') {
    throw new TypeError(
      `Cannot make a worker pool: scriptURL is ${
        scriptURL === '' ? 'empty' : typeof scriptURL
      }, want a URL or a path`,
    )
  }
  // One letter before the colon is a Windows drive, not a scheme.
  if (/^[a-z][a-z0-9+.-]+:/i.test(scriptURL)) return new URL(scriptURL).href
  return toFileUrl(resolve(scriptURL)).href
}
