import type { Context, Middleware } from '../context/types.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, flag, type OptionRules } from '../options/rule.ts'
import { isToken } from './token.ts'

/** Options of {@linkcode serverTiming}. */
export interface ServerTimingOptions {
  /** Whether the client sees the timings; durations can reveal what it should not know. Default: everyone does. */
  readonly enabled?: (boolean | ((ctx: Context) => boolean)) | undefined
  /** Add `total`, the time of all that is inside this middleware. Default true. */
  readonly total?: boolean | undefined
}

/** Notes of one request; the first 100 are kept. */
interface Timing {
  readonly name: string
  readonly durationMs: number
  readonly description: string | undefined
}

const MOST = 100

const RULES: OptionRules<ServerTimingOptions> = {
  enabled: {
    wanted: 'true, false or a function',
    check: (value) => flag().check(value) && callback().check(value),
  },
  total: flag(),
}

/**
 * Shows in the browser's network panel where the time went, by the Server-Timing header (W3C). Handlers note a step by
 * `ctx.state.measure!('db', () => query())`, which gives what the step gives, a promise too. A step that ends after the
 * response was made is not in it.
 */
export function serverTiming(options: ServerTimingOptions = {}): Middleware {
  checkFactoryOptions(serverTiming, options, RULES)
  const { enabled = true, total = true } = options
  return async function serverTiming(ctx, next) {
    const timings: Timing[] = []
    ctx.state.measure = (name, work, description) => measure(timings, name, work, description)
    const visible = typeof enabled === 'function' ? enabled(ctx) === true : enabled
    const start = performance.now()
    const response = await next()
    if (!visible || response.status === 101) return response
    if (total) timings.push({ name: 'total', durationMs: performance.now() - start, description: undefined })
    if (timings.length > 0) response.headers.append('server-timing', timings.map(toEntry).join(', '))
    return response
  }
}

function measure<T>(timings: Timing[], name: string, work: () => T, description?: string): T {
  if (!isToken(name)) {
    throw new TypeError(
      `Cannot measure: name is ${JSON.stringify(name)}, want letters, digits and !#$%&'*+-.^_\`|~`,
    )
  }
  if (description !== undefined && !/^[\x20-\x7e]*$/.test(description)) {
    throw new TypeError(
      `Cannot measure ${name}: description is ${JSON.stringify(description)}, want printable ASCII`,
    )
  }
  const start = performance.now()
  const note = () => {
    if (timings.length < MOST) timings.push({ name, durationMs: performance.now() - start, description })
  }
  let waits = false
  try {
    const result = work()
    if (!(result instanceof Promise)) return result
    waits = true
    return result.finally(note) as T
  } finally {
    if (!waits) note()
  }
}

function toEntry({ name, durationMs, description }: Timing): string {
  const quoted = description === undefined ? '' : `;desc="${description.replace(/["\\]/g, '\\$&')}"`
  return `${name};dur=${Math.round(durationMs * 100) / 100}${quoted}`
}
