/** The guest's host where the runtime is Deno. */
import { Console } from 'node:console'
import { type GuestHost, setHost } from './host.ts'

// Kept here: the first is fd 1, and `Deno.stdout` leads to fd 2 afterwards.
const { stdout, stdin, stderr } = Deno

const denoHost: GuestHost = {
  read: (into) => stdin.readSync(into),
  write: (bytes) => stdout.writeSync(bytes),
  log: (bytes) => stderr.writeSync(bytes),
  exit: (code) => Deno.exit(code),
  limitMemory: () => {},
  collect: () => {},
  inspect: (value) => Deno.inspect(value),
  explain: () => undefined,
  onIdle: (callback) =>
    addEventListener('beforeunload', (event) => {
      if (callback()) event.preventDefault()
    }),
  onRejection: (callback) =>
    addEventListener('unhandledrejection', (event) => {
      event.preventDefault()
      callback(event.reason)
    }),
  installConsole,
}

function installConsole(write: (text: string) => void): void {
  Object.defineProperty(Deno, 'stdout', { value: stderr, configurable: true, enumerable: true })
  // Before the console: the first use of `process` sets up Node's API, which writes over a console's methods.
  const { process } = globalThis as unknown as { process: { stderr: unknown } }
  Object.defineProperty(process, 'stdout', {
    get: () => process.stderr,
    configurable: true,
    enumerable: true,
  })
  const sink = {
    write: (text: string) => {
      write(text)
      return true
    },
    on: nothing,
    once: nothing,
    removeListener: nothing,
    listenerCount: () => 0,
  }
  globalThis.console = new Console(sink as never, sink as never) as unknown as typeof globalThis.console
}

function nothing(): void {}

setHost(denoHost)
