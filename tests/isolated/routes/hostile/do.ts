/** Misbehaves in the way that `?what=` names. */
import { type Context, HttpError } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  cpuMs: 400,
  memoryMb: 64,
  outputBytes: 100_000,
  limits: { streamBytes: 100_000 },
  warmup: [{ path: '/do?what=nothing' }],
}

type Attack = (ctx: Context) => unknown

const ATTACKS: Readonly<Record<string, Attack>> = {
  nothing: () => null,
  loop: () => {
    while (true);
  },
  loop_after_await: async () => {
    await null
    for (;;);
  },
  microtasks: async () => {
    while (true) await null
  },
  timers_for_ever: () =>
    new Promise(() => {
      const again = () => setTimeout(again, 0)
      again()
    }),
  sleep: () => new Promise((resolve) => setTimeout(resolve, 30_000, 'done')),
  never: () => new Promise(() => {}),
  regexp: () => /^(a+)+$/.test('a'.repeat(40) + 'b'),
  recursion: () => {
    const dive = (depth: number): number => 1 + dive(depth + 1)
    return dive(0)
  },
  json_recursion: () => JSON.parse('['.repeat(5_000_000)),
  promise_storm: () => {
    const storm = () => {
      for (let i = 0; i < 1000; i++) Promise.resolve().then(storm)
    }
    storm()
    return new Promise(() => {})
  },
  many_timers: () =>
    new Promise((resolve) => {
      let left = 10_000
      for (let i = 0; i < 10_000; i++) setTimeout(() => --left === 0 && resolve(null), i % 50)
    }),
  wasm_trap: () => {
    // (func (export "f") unreachable)
    const code = Uint8Array.fromBase64('AGFzbQEAAAABBAFgAAADAgEABwUBAWYAAAoFAQMAAAs=')
    return (new WebAssembly.Instance(new WebAssembly.Module(code)).exports.f as () => void)()
  },
  exit: () => Deno.exit(3),
  exit_zero: () => Deno.exit(0),
  node_exit: () => (globalThis as unknown as { process: { exit(code: number): void } }).process.exit(4),
  abort: () => (globalThis as unknown as { process: { abort(): void } }).process.abort(),
  kill: () => Deno.kill(Deno.pid, 'SIGKILL'),
  output: (ctx) => ctx.send.text('x'.repeat(100_001)),
  output_bytes: () => new Response(new Uint8Array(5 << 20)),
  output_stream: (ctx) =>
    ctx.send.stream((function* () {
      while (true) yield 'x'.repeat(10_000)
    })()),
  close_stdin: () => Deno.stdin.close(),
  close_stdout: () => Deno.stdout.close(),
  stderr: () => {
    const bytes = new Uint8Array(65_536).fill(120)
    while (true) Deno.stderr.writeSync(bytes)
  },
  console: () => {
    for (let i = 0; i < 2000; i++) console.log('y'.repeat(1000))
    return 'done'
  },
  console_for_ever: () => {
    while (true) console.error('y'.repeat(1000))
  },
  stdout: () => {
    for (let i = 0; i < 100; i++) Deno.stdout.writeSync(new Uint8Array(1000).fill(i))
    return 'done'
  },
  throw: () => {
    throw new Error('the secret of the house')
  },
  throw_nothing: () => {
    throw undefined
  },
  throw_trap: () => {
    throw new Proxy({}, {
      get() {
        throw new Error('the secret of the house')
      },
    })
  },
  throw_getter: () => {
    throw Object.defineProperty(new Error('x'), 'stack', {
      get() {
        throw new Error('the secret of the house')
      },
    })
  },
  reject: () => Promise.reject(new TypeError('the secret of the house')),
  reject_elsewhere: () => {
    void Promise.reject(new Error('nobody listens'))
    return new Promise((resolve) => setTimeout(resolve, 5, 'done'))
  },
  throw_in_timer: () => {
    setTimeout(() => {
      throw new Error('the secret of the house')
    }, 0)
    return new Promise((resolve) => setTimeout(resolve, 5, 'done'))
  },
  http_error: () => {
    throw new HttpError(418, 'short and stout', { type: 'teapot', headers: { 'x-pot': 'tea' } })
  },
  fail: (ctx) => ctx.fail(409, 'not now'),
  returns_nothing: () => undefined,
  returns_number: () => 42,
  prototype: () => {
    const proto = Object.prototype as unknown as Record<string, unknown>
    for (const name of ['status', 'headers', 'error', 'view', 'get', 'then']) proto[name] = 'polluted'
    return 'done'
  },
  globals: () => {
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      try {
        delete (globalThis as unknown as Record<string, unknown>)[name]
      } catch {
        // Some stay.
      }
    }
    return 'done'
  },
  headers: (ctx) => ctx.send.text('x', { headers: { 'x-big': 'x'.repeat(2_000_000) } }),
  status: () => new Response(null, { status: 101 } as ResponseInit),
  late: (ctx) => {
    setTimeout(() => Deno.exit(5), 1)
    void new Promise(() => {})
    return ctx.send.text('answered')
  },
  title: () => {
    const process = (globalThis as unknown as { process: { title: string } }).process
    process.title = 'a title that is longer than all arguments together '.repeat(1000)
    return process.title.length > 50_000 ? 'done' : process.title
  },
  debugger: () => {
    // deno-lint-ignore no-debugger
    debugger
    return 'done'
  },
  atomics: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20_000),
}

export async function GET(ctx: Context): Promise<Response> {
  const result = await ATTACKS[ctx.get.query('what')!](ctx)
  if (result instanceof Response) return result
  return typeof result === 'string' || result === null ? ctx.send.text(String(result)) : result as Response
}
