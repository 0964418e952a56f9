/** Servers as fresh processes. */
import { fromFileUrl } from '@std/path'
import { findFault } from './answers.ts'
import type { Load } from './load.ts'
import { type ServerName, SERVERS } from './plan.ts'

const START_MS = 20_000
/** Longest build of the native library. */
const MACHINES_MS = 20 * 60_000

/** A server at work. */
export interface RunningServer {
  readonly origin: string
  stop(): Promise<void>
}

/** Starts a server of this folder on a free port; rejects when it does not answer within 20 s. `env`: more variables for it. */
export async function startServer(
  name: ServerName,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const port = freePort()
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf(SERVERS[name])],
    env: { PORT: String(port), DENO_ENV: 'production', ...env },
    stdin: 'null',
    stdout: 'null',
  }).spawn()
  let exited = false
  const status = child.status.then(() => exited = true)
  async function stop(): Promise<void> {
    if (!exited) child.kill('SIGKILL')
    await status
  }
  const origin = `http://127.0.0.1:${port}`
  const end = performance.now() + START_MS
  while (!exited && performance.now() < end) {
    try {
      await (await fetch(`${origin}/`)).body?.cancel()
      return { origin, stop }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await stop()
  throw new Error(
    `Cannot start ${SERVERS[name]}: ${exited ? 'it ended by itself' : `no answer in ${START_MS} ms`}`,
  )
}

/** The server's answer as it must be, or the reason why it is not. Waits while its machines are being built or started. */
export async function checkAnswer({ origin }: RunningServer, route: string): Promise<string | undefined> {
  for (const end = performance.now() + MACHINES_MS;;) {
    const response = await fetch(origin + route, { headers: { accept: 'application/json' } })
    if (performance.now() > end || !await isStarting(response.clone())) return findFault(route, response)
    await response.body?.cancel()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

async function isStarting(response: Response): Promise<boolean> {
  const text = await response.text()
  return response.status === 503 && text.includes('"isolation-starting"')
}

/** Headers of an answer by name, without the date. */
export async function headerNames({ origin }: RunningServer, route: string): Promise<string> {
  const response = await fetch(origin + route)
  await response.body?.cancel()
  return [...response.headers.keys()].filter((name) => name !== 'date').sort().join(', ')
}

/** Loads a route from a process of its own. Times are in seconds. */
export async function loadRoute(
  { origin }: RunningServer,
  route: string,
  warmUp: number,
  duration: number,
): Promise<Load> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '-A',
      '--no-prompt',
      '--no-check',
      fileOf('load.ts'),
      origin + route,
      String(warmUp),
      String(duration),
    ],
    stdin: 'null',
    stderr: 'inherit',
  }).output()
  if (code !== 0) throw new Error(`Cannot load ${route}: the load generator ended with code ${code}`)
  return JSON.parse(new TextDecoder().decode(stdout))
}

/** The path of a file of this folder. */
export function fileOf(name: string): string {
  return fromFileUrl(new URL(name, import.meta.url))
}

/** A port that nobody listens on. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  listener.close()
  return (listener.addr as Deno.NetAddr).port
}
