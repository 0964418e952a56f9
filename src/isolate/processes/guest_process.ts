/**
 * One child process that runs a program: Deno without permissions, behind the limits of the system. It speaks the frames of a
 * virtual machine on fd 0 and fd 1.
 *
 * ```text
 * sh -c 'trap ...; ulimit ...; exec deno run ... program.js'     one process: exec replaces the shell
 * ```
 */
import { constants } from 'node:os'
import type { OutcomeName } from '../machines/completion.ts'
import type { FrameLimits } from '../wire/wire.ts'
import { CpuDeadline } from './cpu_deadline.ts'
import { FrameReader } from './frame_reader.ts'
import { beforeLastWords } from './last_words.ts'

/** What to start, and how much it may use. */
export interface GuestCommand {
  /** Arguments of deno. */
  readonly args: readonly string[]
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** Private writable memory, in bytes; Linux refuses more (setrlimit(2), RLIMIT_DATA). */
  readonly dataBytes: number
  /** Seconds of CPU in its whole life; null for no bound. Ends what has lost its parent. */
  readonly cpuSeconds: number | null
  /** Open descriptors. */
  readonly files: number
  /** Bytes kept of what a request writes to fd 2. */
  readonly logBytes: number
}

/** Bounds of one exchange. */
export interface ExchangeLimits {
  readonly frame: FrameLimits
  /** Milliseconds by the clock, and of CPU; 0 for no bound of that. */
  readonly timeoutMs: number
  readonly cpuMs: number
}

/** How an exchange ended. */
export interface Exchange {
  readonly outcome: Exclude<OutcomeName, 'stuck' | 'calls'>
  /** Empty unless `answered`. */
  readonly frame: Uint8Array<ArrayBuffer>
  /** Status of `exited`, signal of `killed`, else 0. */
  readonly detail: number
  readonly message: string
}

const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()

/** A process and its streams. Whatever happens, {@link end} releases all of it. */
export class GuestProcess {
  readonly #child: Deno.ChildProcess
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>
  readonly #reader: FrameReader
  readonly #errors: Promise<void>
  readonly #decoder = new TextDecoder()
  /** The beginning of what came on fd 2, `logBytes` characters at most, and the end of what came then. */
  #log = ''
  #rest = ''
  readonly #logBytes: number
  #logDropped = 0
  #killedFor: 'timeout' | 'cpu' | null = null
  #ended: Promise<void> | null = null

  /** Starts a process. Throws what `Deno.Command` does: no permission to run it, no shell, too many processes. */
  constructor(command: GuestCommand) {
    this.#logBytes = command.logBytes
    this.#child = spawn(command)
    this.#writer = this.#child.stdin.getWriter()
    this.#reader = new FrameReader(this.#child.stdout)
    this.#errors = this.#collect()
  }

  /** Sends a frame and takes the one that answers. Over its time the process is killed. Unless `answered`, it is of no more use. */
  async exchange(
    frame: Uint8Array<ArrayBuffer>,
    { frame: limits, timeoutMs, cpuMs }: ExchangeLimits,
  ): Promise<Exchange> {
    const deadline = setTimeout(() => this.#killFor('timeout'), timeoutMs)
    const cpu = cpuMs === 0 ? null : new CpuDeadline(this.#child.pid, cpuMs, () => this.#killFor('cpu'))
    try {
      // A process that ends instead of reading shows by the end of its output.
      this.#writer.write(frame).catch(() => {})
      const read = await this.#reader.read(limits)
      if (read.kind === 'end') return await this.#toEnd()
      if (read.kind === 'frame') return { outcome: 'answered', frame: read.bytes, detail: 0, message: '' }
      const { field, message } = read.error
      return { outcome: field === 'body' ? 'output' : 'misbehaved', frame: NOTHING, detail: 0, message }
    } finally {
      clearTimeout(deadline)
      cpu?.cancel()
    }
  }

  /** What was written to fd 2 since the last call; whole after {@link end}. */
  takeLog(): { readonly log: Uint8Array<ArrayBuffer>; readonly logDropped: number } {
    const bytes = encoder.encode(this.#log + this.#rest)
    const over = Math.max(0, bytes.length - this.#logBytes)
    const taken = {
      log: over > 0 ? bytes.slice(0, this.#logBytes) : bytes,
      logDropped: this.#logDropped + over,
    }
    this.#log = this.#rest = ''
    this.#logDropped = 0
    return taken
  }

  /** Kills the process, if it lives, and waits until nothing of it is left. */
  end(): Promise<void> {
    return this.#ended ??= this.#end()
  }

  async #end(): Promise<void> {
    this.#kill()
    await this.#child.status
    await this.#errors
    await this.#reader.cancel()
    await this.#writer.abort().catch(() => {})
  }

  #killFor(reason: 'timeout' | 'cpu'): void {
    this.#killedFor ??= reason
    this.#kill()
  }

  #kill(): void {
    try {
      this.#child.kill('SIGKILL')
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error
    }
  }

  /** How the process ended that wrote no whole frame. */
  async #toEnd(): Promise<Exchange> {
    const ended = (outcome: Exchange['outcome'], detail = 0): Exchange => ({
      outcome,
      frame: NOTHING,
      detail,
      message: '',
    })
    if (this.#killedFor !== null) return ended(this.#killedFor)
    // fd 1 may have been closed alone.
    const closed = Symbol()
    const status = await Promise.race([this.#child.status, pause(CLOSED_MS).then(() => closed)])
    if (this.#killedFor !== null) return ended(this.#killedFor)
    if (typeof status === 'symbol') return ended('misbehaved')
    const { code, signal } = status as Deno.CommandStatus
    if (signal === null) return ended('exited', code)
    if (signal === 'SIGXCPU') return ended('timeout')
    await this.#errors
    const log = signal === 'SIGTRAP' || signal === 'SIGABRT' ? beforeLastWords(this.#log + this.#rest) : null
    if (log !== null) {
      this.#log = log
      this.#rest = ''
      return ended('memory')
    }
    return ended('killed', (constants.signals as Readonly<Record<string, number>>)[signal] ?? 0)
  }

  /** Reads fd 2 to its end, and keeps its beginning and its last words. */
  async #collect(): Promise<void> {
    for await (const chunk of this.#child.stderr) {
      const text = this.#decoder.decode(chunk, { stream: true })
      const room = this.#logBytes - this.#log.length
      this.#log += text.slice(0, room)
      this.#rest += text.slice(room)
      const over = this.#rest.length - LAST_BYTES
      if (over <= 0) continue
      this.#rest = this.#rest.slice(over)
      this.#logDropped += over
    }
  }
}

/** Room for V8's last words. */
const LAST_BYTES = 8192
/** How long a process that closed its output may take to end. */
const CLOSED_MS = 1000

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => Deno.unrefTimer(setTimeout(resolve, ms)))
}

function spawn({ args, env, dataBytes, cpuSeconds, files }: GuestCommand): Deno.ChildProcess {
  const limits = [
    // What ends the server, by the terminal or with all its group, is not meant for it: requests under way are let out first.
    `trap '' INT HUP QUIT TERM`,
    'ulimit -c 0',
    `ulimit -n ${files}`,
    `ulimit -d ${Math.ceil(dataBytes / 1024)}`,
    ...(cpuSeconds === null ? [] : [`ulimit -t ${cpuSeconds}`]),
  ]
  return new Deno.Command('/bin/sh', {
    args: ['-c', `${limits.join(' && ')} && exec "$0" "$@"`, Deno.execPath(), ...args],
    env,
    clearEnv: true,
    cwd: '/',
    stdin: 'piped',
    stdout: 'piped',
    stderr: 'piped',
  }).spawn()
}
