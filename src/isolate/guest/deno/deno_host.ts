/** The guest's host where the runtime is Deno. */
import { Console } from 'node:console'
import * as vm from 'node:vm'
import { installEnvironment } from './deno_environment.ts'
import { explainError, installAdvice } from './deno_errors.ts'
import { watchExit } from './deno_exit.ts'
import { joinHttp } from './deno_http.ts'
import { loadProgram, runModule } from './deno_program.ts'
import { createFrames } from '../frames.ts'
import { type GuestHost, setHost } from '../host.ts'
import { randomWord } from '../random.ts'
import { installRealmRandom } from '../realms.ts'
import { createRequire } from '../modules.ts'
import { watchTimers } from '../timers.ts'
import { ALONE } from '../../wire/message.ts'

// Kept here: the first is fd 1, and `Deno.stdout` leads to fd 2 afterwards.
const { stdout, stdin, stderr } = Deno

/** A module that does what bundles do. */
const PRACTICE = `import { Readable } from 'node:stream'
import { HttpError } from './runtime.js'
await null
export default [Readable, HttpError]
`

const isAlone = Deno.args.includes(ALONE)

const denoHost: GuestHost = {
  isAlone,
  ...createFrames({
    // Rust's standard output does; a pipe of a worker process has nobody who would take the newline for what it is.
    pads: !isAlone,
    read: (into) => stdin.readSync(into),
    readLater: (into) => stdin.read(into),
    write: (bytes) => stdout.writeSync(bytes),
  }),
  load: loadProgram,
  practiseLoading: (runtime) => runModule('/practice.js', PRACTICE, runtime),
  log: (bytes) => stderr.writeSync(bytes),
  exit: (code) => Deno.exit(code),
  watchExit,
  limitMemory: () => {},
  settle,
  codeBytes,
  joinHttp,
  inspect: (value) => Deno.inspect(value),
  explain: explainError,
  takeRefusal: () => undefined,
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

/** Elements of an array that V8 allocates where all that is young is: 96 KiB. */
const ZEROS = 12_288
/** Most arrays: 96 MiB. */
const ARRAYS = 1024
/** Collections after which both halves hold zeros, and what comes begins at the start of one. */
const COLLECTIONS = 3

/** The part of `node:v8` that is used here. */
interface NodeV8 {
  /** V8 walks over its heap for these, and finishes what it had begun to sweep. */
  getHeapCodeStatistics(): unknown
  getHeapStatistics(): { used_heap_size: number }
  getHeapSpaceStatistics(): { space_name: string; space_used_size: number }[]
}

/** `node:v8`, once somebody has asked for it. */
let v8: NodeV8 | undefined

/**
 * V8 bumps its way through two half-spaces and never clears them: a warm-up leaves megabytes of dead objects there, page after page. Dead
 * arrays of zeros in their place are pages of zeros, or those of the base, which a snapshot does not keep. They end behind a collection,
 * so that a request has all of the space before it meets one. One thread sweeps old space piece by piece, when memory is wanted: what a
 * collection left unswept, every request would sweep again.
 *
 * ```text
 * before  [live][dead][dead][dead][free.......]   [dead.......................]
 * after   [live][free, zeros..................]   [zeros......................]
 * ```
 */
function settle(): void {
  v8 ??= nodeV8()
  let used = v8.getHeapStatistics().used_heap_size
  for (let made = 0, collections = 0; made < ARRAYS && collections < COLLECTIONS; made++) {
    new Array(ZEROS).fill(0)
    const now = v8.getHeapStatistics().used_heap_size
    if (now < used) collections++
    used = now
  }
  v8.getHeapCodeStatistics()
}

/** What V8's spaces of machine code hold. */
function codeBytes(): number {
  v8 ??= nodeV8()
  let bytes = 0
  for (const { space_name, space_used_size } of v8.getHeapSpaceStatistics()) {
    if (space_name.startsWith('code_')) bytes += space_used_size
  }
  return bytes
}

function nodeV8(): NodeV8 {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): unknown } }
  return process.getBuiltinModule('node:v8') as NodeV8
}

function nothing(): void {}

installEnvironment()
installAdvice()
/** Modules of CommonJS, and those that make a `require` of their own, find what the bundle has. */
function installRequire(): void {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): object } }
  Object.assign(process.getBuiltinModule('node:module'), { createRequire })
  Object.defineProperty(globalThis, 'require', {
    value: createRequire('/program.js'),
    configurable: true,
    writable: true,
  })
}

/** A report for packages that look for their machine code: Deno's own asks for the networks, which fails where there is none. */
function installReport(): void {
  const { process } = globalThis as unknown as { process: { report: object } }
  Object.assign(process.report, { getReport: () => ({ header: {}, sharedObjects: [] }) })
}

/** The file mode mask of a fresh process: packages ask for it when they load, and Deno's own needs a permission. */
function installUmask(): void {
  const { process } = globalThis as unknown as { process: { umask(mask?: number | string): number } }
  let mask = 0o022
  process.umask = (next) => {
    const before = mask
    if (next !== undefined) mask = (typeof next === 'string' ? parseInt(next, 8) : next) & 0o777
    return before
  }
}

/** Nothing in a machine is a terminal. Loggers ask in every request, and Deno's own answer takes two system calls, which cost 25 us each. */
function installTerminals(): void {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): object } }
  const no = () => false
  Object.assign(process.getBuiltinModule('node:tty'), { isatty: no })
  for (const stream of [stdin, stdout, stderr]) {
    Object.defineProperty(stream, 'isTerminal', { value: no, configurable: true, writable: true })
  }
}

/** Timers go on while the program waits for the host. */
function installTimers(): void {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): object } }
  watchTimers(process.getBuiltinModule('node:timers') as Record<string, unknown>)
}

installTimers()
installRequire()
installTerminals()
installReport()
installUmask()
setHost(denoHost)
installRealmRandom(vm, randomWord)
