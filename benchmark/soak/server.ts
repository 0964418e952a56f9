/** The server in a fresh process, and what it is asked. */
import { fromFileUrl } from '@std/path'

/** The first start builds the native library. */
const START_MS = 600_000

/** The folder of its routes. */
export const SOAK_ROUTES = fromFileUrl(new URL('./routes', import.meta.url))

/** A server at work. */
export interface SoakServer extends AsyncDisposable {
  readonly pid: number
  readonly origin: string
  stop(): Promise<void>
}

/** Starts `main.ts` on a free port, with the routes of a folder that has those of the soak; rejects when no isolated route answers within ten minutes, the build of the library among them. */
export async function startSoakServer(routes = SOAK_ROUTES): Promise<SoakServer> {
  const port = freePort()
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '-A',
      '--no-prompt',
      '--no-check',
      fromFileUrl(new URL('./main.ts', import.meta.url)),
      routes,
    ],
    env: { PORT: String(port), DENO_ENV: 'production' },
    stdin: 'null',
    stdout: 'null',
    // Hostile handlers write a lot there.
    stderr: 'null',
  }).spawn()
  const origin = `http://127.0.0.1:${port}`
  let last = 'it does not listen'
  async function stop(): Promise<void> {
    try {
      child.kill('SIGKILL')
    } catch {
      // It has ended.
    }
    await child.status
  }
  for (const end = performance.now() + START_MS; performance.now() < end;) {
    try {
      const response = await fetch(`${origin}/hello?id=0`)
      last = `status ${response.status}: ${await response.text()}`
      if (response.status === 200) return { pid: child.pid, origin, stop, [Symbol.asyncDispose]: stop }
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await stop()
  throw new Error(
    `Cannot start the server of the soak: after ${START_MS} ms ${last}, want an isolated answer`,
  )
}

/** A request with its answer; `type` problems come as JSON. */
export async function ask(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { headers: { accept: 'application/problem+json' } })
  return { status: response.status, text: await response.text() }
}

function freePort(): number {
  const listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  listener.close()
  return (listener.addr as Deno.NetAddr).port
}
