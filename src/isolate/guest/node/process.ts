/**
 * Node's `process` in the runtime `core`, as bundlers for the browser have it: without a version, so that packages which ask for Node
 * take their other way. The variables are those that `env` names.
 */
import EventEmitter from 'node:events'

interface Variables {
  readonly env: { toObject(): Record<string, string> }
}

const NANOSECONDS = 1e9

function hrtime([seconds, nanoseconds]: readonly number[] = [0, 0]): [number, number] {
  const now = performance.timeOrigin + performance.now()
  const since = Math.floor(now / 1000) - seconds
  const rest = Math.floor((now % 1000) * 1e6) - nanoseconds
  return rest < 0 ? [since - 1, rest + NANOSECONDS] : [since, rest]
}

hrtime.bigint = (): bigint => {
  const [seconds, nanoseconds] = hrtime()
  return BigInt(seconds) * BigInt(NANOSECONDS) + BigInt(nanoseconds)
}

function missing(name: string): () => never {
  return () => {
    throw new Error(
      `process.${name} is not there in the runtime 'core', want isolated = { runtime: 'deno' }`,
    )
  }
}

const variables = (globalThis as unknown as { Deno?: Variables }).Deno?.env.toObject()

export default Object.assign(new EventEmitter(), {
  title: 'browser',
  browser: true,
  version: '',
  versions: {},
  platform: 'linux',
  arch: 'x64',
  pid: 1,
  argv: [] as string[],
  execArgv: [] as string[],
  env: { NODE_ENV: 'production', ...variables },
  cwd: () => '/',
  hrtime,
  uptime: () => performance.now() / 1000,
  nextTick: (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    queueMicrotask(() => callback(...args)),
  emitWarning: (warning: unknown) => console.warn(`Warning: ${warning}`),
  chdir: missing('chdir'),
  exit: missing('exit'),
  binding: missing('binding'),
  memoryUsage: missing('memoryUsage'),
})
