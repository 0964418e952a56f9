/** Attackers in processes of their own. */
import { fromFileUrl } from '@std/path'

/** What an attacker asks for, again and again. */
export interface Target {
  readonly origin: string
  readonly path: string
  /** Left out: the origin's. */
  readonly host?: string
}

/** An attacker that has had its first answers. `stop` gives how many it had. */
export interface Attacker extends AsyncDisposable {
  stop(): Promise<number>
}

/** Starts one; resolves when each of its connections has had an answer. */
export async function startAttacker({ origin, path, host }: Target, connections: number): Promise<Attacker> {
  const program = fromFileUrl(new URL('./attack.ts', import.meta.url))
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '--allow-net',
      '--no-check',
      program,
      origin,
      path,
      String(connections),
      ...host === undefined ? [] : [host],
    ],
    stdin: 'piped',
    stdout: 'piped',
  }).spawn()
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await output.read()
  if (value !== 'ready\n') throw new Error(`Cannot attack ${path}: the attacker says ${value}, want ready`)
  let isOver = false
  const end = async () => {
    if (isOver) return
    isOver = true
    await child.stdin.close()
    await child.status
  }
  return {
    async stop() {
      const count = output.read()
      await end()
      return Number((await count).value)
    },
    [Symbol.asyncDispose]: end,
  }
}
