/** Shows the progress of a build: one growing line on a terminal, a line now and then elsewhere. */

/** Where lines go; a terminal's last line can be written again. */
export interface ProgressSink {
  readonly terminal: boolean
  write(text: string): void
}

/** Cargo's bar: `Building [==>   ] 12/57: libc, syn`. */
const BAR = /^\s*Building \[.*\] (\d+)\/(\d+)/
/** Outside a terminal, a line each time that this share of the crates is done. */
const SHARE = 1 / 4

/** Turns cargo's lines into few. */
export class BuildProgress {
  readonly #what: string
  readonly #sink: ProgressSink
  readonly #begin = performance.now()
  #shown = 0

  /** `what` is built, which `takes` some time. */
  constructor(what: string, takes: string, sink: ProgressSink = standardError()) {
    this.#what = `mayfly: building ${what}`
    this.#sink = sink
    sink.write(`${this.#what}, once for these sources (cargo build --release); it takes ${takes}\n`)
  }

  /** Takes one line of cargo's. */
  line(text: string): void {
    const bar = BAR.exec(text)
    if (bar !== null) this.#count(Number(bar[1]), Number(bar[2]))
    else if (text.includes('Blocking waiting for file lock')) {
      this.#say(`${this.#what}: another process builds them, waiting for it`)
    }
  }

  /** Says how it ended: `took`, `failed after` or `given up after`. */
  done(how: string): void {
    const seconds = Math.round((performance.now() - this.#begin) / 1000)
    const { terminal, write } = this.#sink
    write(`${terminal ? '\r\x1b[K' : ''}${this.#what} ${how} ${seconds} s\n`)
  }

  #count(done: number, all: number): void {
    if (!this.#sink.terminal && done / all < this.#shown + SHARE) return
    this.#shown = done / all
    this.#say(`${this.#what}: ${done} of ${all} crates`)
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
