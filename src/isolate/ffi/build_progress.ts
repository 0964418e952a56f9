/** What people see of a build: one line that grows on a terminal, a line now and then elsewhere. */

/** Where lines go; a terminal's last line can be written again. */
export interface ProgressSink {
  readonly terminal: boolean
  write(text: string): void
}

/** Cargo's bar: `Building [==>   ] 12/57: libc, syn`. */
const BAR = /^\s*Building \[.*\] (\d+)\/(\d+)/
const WHAT = 'mayfly: building the virtual machines'
/** Outside a terminal, a line each time that this share of the crates is done. */
const SHARE = 1 / 4

/** Turns cargo's lines into few. */
export class BuildProgress {
  readonly #sink: ProgressSink
  readonly #begin = performance.now()
  #shown = 0

  constructor(sink: ProgressSink = standardError()) {
    this.#sink = sink
    sink.write(
      `${WHAT}, once for these sources (cargo build --release); it takes a minute or two\n`,
    )
  }

  /** Takes one line of cargo's. */
  line(text: string): void {
    const bar = BAR.exec(text)
    if (bar !== null) this.#count(Number(bar[1]), Number(bar[2]))
    else if (text.includes('Blocking waiting for file lock')) {
      this.#say(`${WHAT}: another process builds them, waiting for it`)
    }
  }

  /** Says how it ended: `took`, `failed after` or `given up after`. */
  done(how: string): void {
    const seconds = Math.round((performance.now() - this.#begin) / 1000)
    const { terminal, write } = this.#sink
    write(`${terminal ? '\r\x1b[K' : ''}${WHAT} ${how} ${seconds} s\n`)
  }

  #count(done: number, all: number): void {
    if (!this.#sink.terminal && done / all < this.#shown + SHARE) return
    this.#shown = done / all
    this.#say(`${WHAT}: ${done} of ${all} crates`)
  }

  #say(text: string): void {
    this.#sink.write(this.#sink.terminal ? `\r\x1b[K${text}` : `${text}\n`)
  }
}

function standardError(): ProgressSink {
  const encoder = new TextEncoder()
  return {
    terminal: Deno.stderr.isTerminal(),
    write: (text) => void Deno.stderr.writeSync(encoder.encode(text)),
  }
}
