/** A server of Valkey, or of Redis, for a test. */
import { join } from '@std/path'

const NAMES = ['valkey-server', 'redis-server']

/** The command that starts one; null, said aloud: none is installed. */
export const VALKEY_COMMAND: string | null = findCommand()

/** One that runs until it is disposed of, and keeps nothing. */
export interface ValkeyServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Ends it at once. */
  stop(): Promise<void>
}

/** Starts one on a port of this machine. */
export async function startValkey(port = freePort(), args: readonly string[] = []): Promise<ValkeyServer> {
  const child = new Deno.Command(VALKEY_COMMAND!, {
    args: ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...args],
    stdin: 'null',
    stdout: 'null',
    stderr: 'null',
  }).spawn()
  let over = false
  const ended = child.status.then(() => void (over = true))
  const stop = async () => {
    if (!over) child.kill('SIGKILL')
    await ended
  }
  const until = Date.now() + 20_000
  for (;;) {
    try {
      using _ = await Deno.connect({ hostname: '127.0.0.1', port })
      return { url: `valkey://127.0.0.1:${port}`, port, stop, [Symbol.asyncDispose]: stop }
    } catch (error) {
      if (over || Date.now() > until) {
        await stop()
        throw error
      }
      await new Promise((go) => setTimeout(go, 10))
    }
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  return listener.addr.port
}

function findCommand(): string | null {
  for (const folder of (Deno.env.get('PATH') ?? '').split(':')) {
    for (const name of NAMES) {
      try {
        if (Deno.statSync(join(folder, name)).isFile) return join(folder, name)
      } catch {
        // Not in this folder.
      }
    }
  }
  console.error(`skipped: tests of kv on Valkey, as none of ${NAMES.join(', ')} is installed`)
  return null
}
