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
  readonly pid: number
  stop(): Promise<void>
}

/** What is started. */
interface ServerCommand {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Longest time until it answers. Default 20 s. */
  readonly startMs?: number
}

/** Starts a server of this folder on a free port; rejects when it does not answer within 20 s. `env`: more variables for it. */
export async function startServer(
  name: ServerName,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const file = SERVERS[name]
  return await startCommand((port) => ({
    name: file,
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf(file)],
    env: { PORT: String(port), DENO_ENV: 'production', ...env },
  }))
}

/** Starts a server on a free port of 127.0.0.1; rejects when it ends, or does not answer `GET /` in time. */
export async function startCommand(toCommand: (port: number) => ServerCommand): Promise<RunningServer> {
  const port = freePort()
  const { name, command, args, env, startMs = START_MS } = toCommand(port)
  const child = new Deno.Command(command, { args: [...args], env, stdin: 'null', stdout: 'null' }).spawn()
  let exited = false
  const status = child.status.then(() => exited = true)
  async function stop(): Promise<void> {
    if (!exited) child.kill('SIGKILL')
    await status
  }
  const origin = `http://127.0.0.1:${port}`
  const end = performance.now() + startMs
  while (!exited && performance.now() < end) {
    try {
      await (await fetch(`${origin}/`)).body?.cancel()
      return { origin, pid: child.pid, stop }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await stop()
  throw new Error(`Cannot start ${name}: ${exited ? 'it ended by itself' : `no answer in ${startMs} ms`}`)
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
