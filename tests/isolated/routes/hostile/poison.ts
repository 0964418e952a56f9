/** Poisons what other code stands on, or turns the runtime against itself, in the way that `?what=` names. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  cpuMs: 400,
  memoryMb: 64,
  outputBytes: 100_000,
  limits: { streamIdleMs: 1000 },
  warmup: [{ path: '/poison?what=nothing' }],
}

type Attack = (ctx: Context) => unknown
// deno-lint-ignore no-explicit-any
const world = globalThis as any

/** Makes every function that an object has of its own throw. */
function poison(...targets: object[]): void {
  for (const target of targets) {
    for (const name of Reflect.ownKeys(target)) {
      const { value, writable } = Object.getOwnPropertyDescriptor(target, name)!
      if (typeof value === 'function' && writable && name !== 'constructor') {
        ;(target as Record<PropertyKey, unknown>)[name] = function poisoned() {
          throw new Error('poisoned')
        }
      }
    }
  }
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  nothing: () => null,
  json: () => poison(JSON),
  arrays: () => poison(Array, Array.prototype),
  array_iterator: () => poison(Object.getPrototypeOf([][Symbol.iterator]())),
  promises: () => poison(Promise, Promise.prototype),
  promise_then: () => {
    Promise.prototype.then = () => new Promise(() => {})
  },
  encoders: () => poison(TextEncoder.prototype, TextDecoder.prototype),
  bytes: () => poison(Uint8Array.prototype, Object.getPrototypeOf(Uint8Array.prototype), DataView.prototype),
  objects: () => poison(Object, Reflect),
  functions: () => poison(Function.prototype),
  strings: () => poison(String.prototype, RegExp.prototype, Number.prototype),
  maps: () => poison(Map.prototype, Set.prototype, WeakMap.prototype),
  responses: () => poison(Response.prototype, Headers.prototype, Request.prototype),
  errors: () => {
    poison(Error.prototype)
    throw new Error('after the poison')
  },
  deno: () => poison(Deno, Deno.stdin, Deno.stdout, Deno.stderr),
  thenable: () => {
    Object.defineProperty(Object.prototype, 'then', { value: () => {}, configurable: true })
  },
  setters: () => {
    for (const name of ['0', 'status', 'headers', 'value', 'done', 'error']) {
      Object.defineProperty(Object.prototype, name, {
        set() {
          throw new Error('set')
        },
        configurable: true,
      })
    }
  },
  species: () => {
    Object.defineProperty(Object.getPrototypeOf(Uint8Array), Symbol.species, { get: () => Array })
  },
  stack_trace: () => {
    ;(Error as unknown as { prepareStackTrace: unknown }).prepareStackTrace = () => {
      throw new Error('while the stack is made')
    }
    throw new Error('with a poisoned stack')
  },
  stack_loop: () => {
    ;(Error as unknown as { prepareStackTrace: unknown }).prepareStackTrace = () => {
      while (true);
    }
    return String(new Error('x').stack)
  },
  stack_limit: () => {
    Error.stackTraceLimit = Infinity
    const dive = (): number => 1 + dive()
    return dive()
  },
  frozen: () => {
    for (const name of Object.getOwnPropertyNames(world)) {
      try {
        Object.freeze(world[name])
        Object.freeze(world[name].prototype)
      } catch {
        // No object.
      }
    }
  },
  throw_symbol: () => {
    throw Symbol('thrown')
  },
  throw_revoked: () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    throw proxy
  },
  throw_message: () => {
    throw Object.assign(new Error('x'), { message: { toString: () => 'y'.repeat(1000) } })
  },
  throw_cause: () => {
    const error = new Error('x')
    error.cause = error
    throw error
  },
  throw_from_prototype: () => {
    const error = new Error('x')
    Object.setPrototypeOf(error, null)
    throw error
  },
  response_getter: () =>
    Object.defineProperty(new Response(new Uint8Array(1)), 'status', {
      get() {
        throw new Error('no status')
      },
    }),
  response_proxy: () => new Proxy(new Response('x'), {}),
  response_used: async () => {
    const response = new Response('x')
    await response.text()
    return response
  },
  stream_for_ever: (ctx) =>
    ctx.send.stream((async function* () {
      for (;;) {
        await null
        yield ''
      }
    })()),
  stream_never: (ctx) => ctx.send.stream(new ReadableStream({ pull: () => new Promise(() => {}) })),
  stream_error: (ctx) =>
    ctx.send.stream((function* () {
      yield 'begun'
      throw new Error('in the middle')
    })()),
  stream_objects: () =>
    new Response(new ReadableStream({ start: (control) => control.enqueue({ no: 'bytes' } as never) })),
  context: (ctx) => {
    Object.setPrototypeOf(ctx, null)
    return new Response('x')
  },
  import_data: async () => `${(await import(`data:text/javascript,export default ${1 + 1}`)).default}`,
  import_node: async () => {
    const name = 'child_process'
    const { execSync } = await import(`node:${name}`)
    return execSync('id')
  },
  eval: () => String(world.eval('6 * 7')),
  function: () => String(new Function('return 6 * 7')()),
  fetch: () => fetch('http://127.0.0.1/'),
  read_stdin: () => String(Deno.stdin.readSync(new Uint8Array(100))),
  internals: () => {
    const found = Object.getOwnPropertySymbols(Deno).map((symbol) => world.Deno[symbol])
    for (const core of [...found, ...found.map((inner) => inner?.core), world.__bootstrap, world.bootstrap]) {
      for (const name of Object.keys(core ?? {})) {
        try {
          core[name]?.(1, 2, 3)
        } catch {
          // Refused.
        }
      }
    }
    return 'done'
  },
  every_function: async () => {
    for (const name of Object.getOwnPropertyNames(Deno)) {
      if (name === 'exit' || name === 'serve') continue
      for (const args of [[], ['/etc/passwd'], [1, '/proc/self/mem'], [{}, {}, {}]]) {
        try {
          await Promise.race([world.Deno[name](...args), null])
        } catch {
          // Refused, or no function.
        }
      }
    }
    return 'done'
  },
  shared_memory: () => {
    const shared = new SharedArrayBuffer(1 << 20)
    const words = new Int32Array(shared)
    for (let i = 0; i < 100_000; i++) Atomics.notify(words, i % 1000)
    return Atomics.waitAsync(words, 0, 0).async ? 'done' : 'not async'
  },
  finalizers: () => {
    const registry = new FinalizationRegistry(() => Deno.exit(6))
    for (let i = 0; i < 10_000; i++) registry.register({ i }, i)
    return 'done'
  },
  bigint: () => String(2n ** (2n ** 40n)),
  long_string: () => 'x'.repeat(2 ** 29).length + 'y'.repeat(2 ** 30).length,
  sparse: () => String(new Array(2 ** 32 - 1).fill(0).length),
  sort: () => String(new Array(1e7).fill(0).map(() => Math.random()).sort(() => Math.random() - 0.5).length),
  cycle: (ctx) => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    return ctx.send.json(cycle)
  },
  to_json: (ctx) =>
    ctx.send.json({
      toJSON() {
        while (true);
      },
    }),
  clone: () => {
    let value: unknown = 'x'
    for (let i = 0; i < 40; i++) value = [value, value]
    return JSON.stringify(structuredClone(value)).length
  },
  intervals: () => {
    for (let i = 0; i < 1000; i++) setInterval(() => {}, 1)
    return 'done'
  },
  microtask_after: () => {
    queueMicrotask(function again() {
      queueMicrotask(again)
    })
    return 'done'
  },
  wasm_recursion: () => {
    // (func $f (export "f") call $f)
    const code = Uint8Array.from([
      0,
      97,
      115,
      109,
      1,
      0,
      0,
      0,
      1,
      4,
      1,
      96,
      0,
      0,
      3,
      2,
      1,
      0,
      7,
      5,
      1,
      1,
      102,
      0,
      0,
      10,
      6,
      1,
      4,
      0,
      16,
      0,
      11,
    ])
    return (new WebAssembly.Instance(new WebAssembly.Module(code)).exports.f as () => void)()
  },
  wasm_loop: () => {
    // (func (export "f") (loop br 0))
    const code = Uint8Array.from([
      ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0],
      ...[10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11],
    ])
    return (new WebAssembly.Instance(new WebAssembly.Module(code)).exports.f as () => void)()
  },
  inspect: () => {
    console.log(
      new Proxy({}, {
        ownKeys() {
          throw new Error('no keys')
        },
      }),
      {
        [Symbol.for('Deno.customInspect')]() {
          throw new Error('no inspection')
        },
      },
    )
    return 'done'
  },
}

export async function GET(ctx: Context): Promise<Response> {
  const result = await ATTACKS[ctx.get.query('what')!](ctx)
  return result instanceof Response ? result : ctx.send.text(typeof result === 'string' ? result : 'done')
}
