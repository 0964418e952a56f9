/** The guest's console. Everything goes to fd 2, as fd 1 carries frames, and no more than a request's share of it. */
import { Console } from 'node:console'

const encoder = new TextEncoder()
const { stderr } = Deno
/** Bytes that one request may write to the console; the host counts by itself what is over. */
let share = 65_536
let left = share

/** Sets every request's share. */
export function limitConsole(bytes: number): void {
  share = bytes
}

/** Gives the next request its share. */
export function openConsole(): void {
  left = share
}

/** Replaces the console, and the other ways to standard output by those to standard error. */
export function installConsole(): void {
  Object.defineProperty(Deno, 'stdout', { value: Deno.stderr, configurable: true, enumerable: true })
  // Before the console: the first use of `process` sets up Node's API, which writes over a console's methods.
  const { process } = globalThis as unknown as { process: { stderr: unknown } }
  Object.defineProperty(process, 'stdout', {
    get: () => process.stderr,
    configurable: true,
    enumerable: true,
  })
  const sink = { write, on: nothing, once: nothing, removeListener: nothing, listenerCount: () => 0 }
  globalThis.console = new Console(sink as never, sink as never) as unknown as typeof globalThis.console
}

function write(text: string): boolean {
  if (left < 0) return true
  // One byte over the share tells the host that there was more.
  const bytes = encoder.encode(text).subarray(0, left + 1)
  left -= bytes.length
  for (let sent = 0; sent < bytes.length;) sent += stderr.writeSync(bytes.subarray(sent))
  return true
}

function nothing(): void {}
