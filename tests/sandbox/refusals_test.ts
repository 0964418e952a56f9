/** What a machine cannot do fails in both runtimes, and says what to do instead. */
import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { ThrownError } from '@mayfly/mayfly/sandbox'
import type { Runtime } from '../isolated/fixture.ts'
import { inEachSandbox, rejection } from './fixture.ts'

const NETWORK = 'programs have no network, want'
const FILES = 'programs have no files, want'
const PROCESSES = 'programs start no processes, want'
const OTHER = "want the sandbox's runtime: 'deno'"

interface Attempt {
  readonly name: string
  readonly text: string
  /** What the message says in each runtime, or in both. */
  readonly words: string | Readonly<Record<Runtime, string>>
}

const ATTEMPTS: readonly Attempt[] = [
  { name: 'a web socket', text: `new WebSocket('wss://example.com/')`, words: NETWORK },
  { name: 'a server', text: `Deno.listen({ port: 0 })`, words: { deno: NETWORK, core: OTHER } },
  { name: 'a worker', text: `new Worker('data:text/javascript,0')`, words: 'programs have no workers, want' },
  { name: 'a file', text: `Deno.readTextFileSync('/etc/passwd')`, words: { deno: FILES, core: OTHER } },
  {
    name: 'a file to write',
    text: `Deno.writeTextFileSync('/tmp/x', 'a')`,
    words: { deno: FILES, core: OTHER },
  },
  {
    name: 'a file by Node',
    text: `process.getBuiltinModule('node:fs').readFileSync('/etc/passwd')`,
    words: { deno: FILES, core: OTHER },
  },
  { name: 'local storage', text: `localStorage.setItem('a', '1')`, words: { deno: FILES, core: OTHER } },
  { name: 'a process', text: `new Deno.Command('ls').outputSync()`, words: { deno: PROCESSES, core: OTHER } },
  {
    name: 'a process by Node',
    text: `process.getBuiltinModule('node:child_process').execSync('ls')`,
    words: { deno: PROCESSES, core: OTHER },
  },
  {
    name: 'native code',
    text: `Deno.dlopen('/lib/x.so', {})`,
    words: { deno: 'programs load no native code, want', core: OTHER },
  },
  { name: 'a URL', text: `import('https://example.com/a.js')`, words: 'want it' },
  { name: 'a package', text: `import('npm:lodash')`, words: 'want it' },
  { name: 'a bare name', text: `import('lodash')`, words: 'want it among `modules`, or bundled' },
  { name: 'a promise for ever', text: `new Promise(() => {})`, words: 'nothing will settle' },
  { name: 'a value that is none', text: `() => 1`, words: 'it is a function, want data' },
]

inEachSandbox({ limits: { timeoutMs: 20_000 } }, ({ runtime, test, sandbox }) => {
  for (const { name, text, words } of ATTEMPTS) {
    test(`${name} is refused, and the words say what to do`, async () => {
      const error = await rejection(sandbox().run(`export default () => (${text})`), ThrownError)
      const wanted = typeof words === 'string' ? words : words[runtime]
      assertStringIncludes(error.message, wanted)
      assertStringIncludes(error.stack!, wanted)
      for (const foreign of ['isolated', 'middleware', 'ctx.state', Deno.cwd()]) {
        assert(!`${error.message}${error.stack}`.includes(foreign), error.stack)
      }
    })
  }

  test('a module of Node is one in stock Deno, and refused with the remedy elsewhere', async () => {
    const run = sandbox().run(`import { posix } from 'node:path'\nexport default posix.join('a', 'b')`)
    if (runtime === 'deno') return assertEquals((await run).value, 'a/b')
    assertStringIncludes((await rejection(run, ThrownError)).message, `has no modules of Node, ${OTHER}`)
  })

  test('a module of WebAssembly is one in stock Deno, and refused with the remedy elsewhere', async () => {
    const worker = sandbox().load({
      mainModule: 'main.js',
      modules: {
        'main.js':
          `import add from './add.wasm'\nexport const kind = () => Object.prototype.toString.call(add)`,
        'add.wasm': { wasm: Uint8Array.fromHex('0061736d01000000') },
      },
    })
    if (runtime === 'deno') return assertEquals(await worker.call('kind'), '[object WebAssembly.Module]')
    const error = await rejection(worker.call('kind'), ThrownError)
    assertStringIncludes(
      error.message,
      `Cannot load add.wasm: the runtime 'core' has no WebAssembly, ${OTHER}`,
    )
  })

  test('words of a program stay its own', async () => {
    const own = await rejection(sandbox().run(`throw new Error('a file is not there')`), ThrownError)
    assertEquals(own.message, 'a file is not there')
  })
})
