import { fromFileUrl } from '@std/path'
import type { Address } from '../http/raw_client.ts'

const CONFIG = fromFileUrl(new URL('../../deno.json', import.meta.url))

/** Milliseconds that a child may run, however busy the machine is: then it is killed, and its test fails by the exit code. */
const LIFETIME_MS = 120_000

/** A line that the child told, or the line itself when it is no JSON. */
export interface Told {
  readonly kind: string
  readonly [name: string]: unknown
}

/** A child process that runs a server. Stop it with `await using`. */
export interface Child {
  readonly pid: number
  /** What it told so far. */
  readonly told: Told[]
  readonly stderr: () => string
  /** Waits for a line of this kind; fails when the child ends without it. */
  wait(kind: string): Promise<Told>
  kill(signal: Deno.Signal): void
  /** Its exit code, once it has ended and all it wrote is read. */
  readonly ended: Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of {@linkcode startChild}. */
export interface ChildOptions {
  env?: Record<string, string>
  cwd?: string
  /** Arguments of deno before the script. Default `run`. */
  command?: string[]
  script?: URL
  args?: string[]
}

/** Starts a script of the fixture; `serve.ts` with `{ router, serve }` unless told. */
export function startChild(config: object, options: ChildOptions = {}): Child {
  const { env = {}, cwd, command = ['run'], args = [JSON.stringify(config)] } = options
  const script = options.script ?? new URL('./fixture/serve.ts', import.meta.url)
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...command,
      '--allow-all',
      '--no-check',
      ...(command[0] === 'run' ? ['--quiet'] : []),
      '--config',
      CONFIG,
      fromFileUrl(script),
      ...args,
    ],
    env: { NO_COLOR: '1', DENO_ENV: 'production', ...env },
    cwd,
    stdin: 'null',
    stdout: 'piped',
    stderr: 'piped',
  }).spawn()
  const told: Told[] = []
  let stderr = ''
  let tell = () => {}
  let over = false
  const reading = Promise.all([
    readLines(process.stdout, (line) => {
      told.push(toTold(line))
      tell()
    }),
    readLines(process.stderr, (line) => stderr += `${line}\n`),
  ])
  const lifetime = setTimeout(() => process.kill('SIGKILL'), LIFETIME_MS)
  const ended = (async () => {
    const [{ code }] = await Promise.all([process.status, reading])
    over = true
    clearTimeout(lifetime)
    tell()
    return code
  })()
  return {
    pid: process.pid,
    told,
    stderr: () => stderr,
    async wait(kind) {
      for (;;) {
        const found = told.find((line) => line.kind === kind)
        if (found !== undefined) return found
        if (over) throw new Error(`Cannot wait for ${kind}: the child ended\n${stderr}`)
        await new Promise<void>((resolve) => tell = resolve)
      }
    },
    kill: (signal) => process.kill(signal),
    ended,
    async [Symbol.asyncDispose]() {
      if (!over) process.kill('SIGKILL')
      await ended
    },
  }
}

/** Where a child listens, once it does. */
export async function addressOf(child: Child): Promise<Address> {
  const { hostname, port } = await child.wait('server:listening') as unknown as {
    hostname: string
    port: number
  }
  return { hostname, port }
}

function toTold(line: string): Told {
  try {
    return JSON.parse(line)
  } catch {
    return { kind: 'text', line }
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  each: (line: string) => void,
): Promise<void> {
  let rest = ''
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) each(line)
  }
  if (rest !== '') each(rest)
}
