import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from '@std/assert'
import {
  CallsError,
  CrashError,
  MemoryError,
  OutputError,
  Sandbox,
  SandboxError,
  ThrownError,
  TimeoutError,
} from '@mayfly/mayfly/sandbox'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { inEachSandbox, rejection } from './fixture.ts'

inEachSandbox({}, ({ runtime, test, sandbox }) => {
  const run = (...args: Parameters<Sandbox['run']>) => sandbox().run(...args)
  const valueOf = async (...args: Parameters<Sandbox['run']>) => (await run(...args)).value

  test('a function is called, any other export is the value', async () => {
    const { value, logs, stats } = await run(
      'export default (a, b) => { console.log("sum", a); return a + b }',
      {
        args: [1, 2],
      },
    )
    assertEquals([value, logs], [3, 'sum 1\n'])
    assert(stats.runMicros > 0 && !stats.warm)
    assert(stats.loadMicros! > 0 && stats.loadMicros! <= stats.runMicros)
    assert((await stats.reset()).pages > 0)
    assertEquals(await valueOf('export default 42'), 42)
    assertEquals(await valueOf('export default await Promise.resolve([1])'), [1])
    assertEquals(await valueOf('export const other = (x) => x * 2', { export: 'other', args: [4] }), 8)
  })

  test('TypeScript loses its types inside', async () => {
    const text = 'interface A { b: number }\nexport default <T extends A>(a: T): number => a.b as number'
    assertEquals(await valueOf(text, { language: 'ts', args: [{ b: 5 }] }), 5)
    assertEquals(await valueOf('enum A { B = 3 }\nexport default A.B', { language: 'ts' }), 3)
    const error = await rejection(
      run(`type A = 1\n\nthrow new Error('here')`, { language: 'ts' }),
      ThrownError,
    )
    assertStringIncludes(error.stack!, 'main.ts:3:')
  })

  test('values of every kind go in and come out', async () => {
    const value = {
      list: [1, undefined, null, 'x', NaN],
      big: 2n ** 70n,
      date: new Date(5),
      map: new Map<unknown, unknown>([[{ k: 1 }, new Set(['a'])]]),
      bytes: new Uint8Array([1, 2, 3]),
      floats: new Float64Array([1.5, -0]),
      buffer: new Uint8Array([9]).buffer,
      pattern: /a+(?<n>b)/giu,
      holes: [1, , 3],
      nested: { deep: { er: [[[]]] } },
    }
    assertEquals(await valueOf('export default (v) => v', { args: [value] }), structuredClone(value))
    const circle: Record<string, unknown> = { name: 'a' }
    circle.self = circle
    const back = await valueOf('export default (v) => ({ same: v === v.self, v })', { args: [circle] })
    const { same, v } = back as { same: boolean; v: { self: unknown } }
    assertEquals([same, v.self === v], [true, true])
    const large = new Uint8Array(4 << 20).fill(7)
    const options = { args: [large], timeoutMs: 20_000 }
    assertEquals((await valueOf('export default (b) => b', options) as Uint8Array).length, 4 << 20)
  })

  test('each kind of value comes out of a machine as it went in, and is there what it is here', async () => {
    const values: unknown[] = [
      ...[
        null,
        undefined,
        true,
        0,
        -0,
        NaN,
        Infinity,
        -Infinity,
        5e-324,
        '',
        '\0\u2028"\\',
        '\ud800',
        0n,
        -255n,
      ],
      ...[Object(1), Object('s'), Object(false), Object(2n), new Date(5), new Date(NaN), /a(?<b>c)+/giu],
      ...[new Uint8ClampedArray([1]), new Int8Array([-1]), new Int16Array([-1]), new Uint16Array([1])],
      ...[new Int32Array([-1]), new Uint32Array([1]), new Float32Array([1.5]), new BigInt64Array([-1n])],
      ...[new BigUint64Array([1n]), new DataView(new Uint8Array([1, 2]).buffer), new ArrayBuffer(0)],
      ...[new Map([[{}, new Map()]]), new Set([[2]]), new Array(5), Object.assign([1], { extra: true })],
      ...[{ ['__proto__']: 1, constructor: 2 }, new TypeError('a', { cause: new Map([[1, 2]]) })],
      ...[new AggregateError([new RangeError('b')], 'all'), new DOMException('stop', 'AbortError')],
    ]
    const kind = (value: unknown) =>
      `${typeof value} ${Object.prototype.toString.call(value)} ${
        value instanceof Error ? `${value.name} ${value.message}` : ''
      }`
    const text = `const kind = ${kind.toString()}
      export default (values) => [values, values.map(kind)]`
    const [back, kinds] = await valueOf(text, { args: [values] }) as [unknown[], string[]]
    assertEquals(kinds, values.map(kind))
    assertEquals(back.map(kind), values.map(kind))
    const isError = (value: unknown) => value instanceof Error
    assertEquals(back.filter((value) => !isError(value)), values.filter((value) => !isError(value)))
    assertEquals(Object.is(back[4], -0), true)
  })

  test('values that do something are read once, on both sides, and what they throw is thrown there', async () => {
    let reads = 0
    const hostile = {
      get a() {
        return ++reads
      },
      toJSON: undefined,
    }
    assertEquals(await valueOf('export default (v) => v', { args: [hostile] }), { a: 1, toJSON: undefined })
    const throws = {
      get a() {
        throw new RangeError('of the host')
      },
    }
    await assertRejects(() => run('export default 1', { args: [throws] }), RangeError, 'of the host')
    await assertRejects(() => run('export default 1', { args: [() => 1] }), DOMException, 'function')
    for (
      const [text, words] of [
        ['{ get a() { throw new URIError("mine") } }', 'mine'],
        ['new Proxy({}, { ownKeys() { throw new URIError("mine") } })', 'mine'],
        ['Object.defineProperty(new Error("own"), "cause", { get() { throw 1 } })', ''],
        ['(() => { let list = null; for (let i = 0; i < 50_000; i++) list = { list }; return list })()', ''],
      ]
    ) {
      const told = await run(`export default () => (${text})`).catch((error) => error)
      assertEquals(told instanceof ThrownError, words !== '', Deno.inspect(told).slice(0, 300))
      if (words !== '') assertStringIncludes(told.message, words!)
    }
  })

  test('what a run does to the language changes its own answer at most', async () => {
    const poison = `
      for (const name of ['toJSON', 'get', 'then', 'push', 'set', 'forEach', 'toString']) {
        Object.defineProperty(Object.prototype, name, { value() { return 'poison' }, writable: true, configurable: true })
      }
      JSON.stringify = Map.prototype.get = Array.prototype.push = Function.prototype.call = () => 'poison'
      export default () => [1, 'a', new Map([[1, 2]])]`
    // It may fail, or succeed; it is an answer either way, and the next run is clean.
    const outcome = await run(poison).then(({ value }) => value, (error) => error)
    if (!(outcome instanceof SandboxError)) assertEquals(outcome, [1, 'a', new Map([[1, 2]])])
    assertEquals(await valueOf('export default () => ({ a: [1] })'), { a: [1] })
    const getter = await rejection(
      run('export default { get a() { throw new RangeError("mine") } }'),
      ThrownError,
    )
    assertEquals([getter.name, getter.message], ['RangeError', 'mine'])
    assertEquals(await valueOf('export default new Proxy({ a: 1 }, {})'), { a: 1 })
    const opaque = await rejection(run('export default { f() {} }'), ThrownError)
    assertEquals(opaque.name, 'DataCloneError')
  })

  test('an error keeps its class, message and place, and tells nothing of the host', async () => {
    const text = 'const f = () => {\n  null.x\n}\nexport default () => f()'
    const error = await rejection(run(text), ThrownError)
    assertInstanceOf(error.thrown, TypeError)
    assertEquals(error.name, 'TypeError')
    const [, first, second] = error.stack!.split('\n')
    assertMatch(first, /^ {4}at f \(main\.js:2:\d+\)$/)
    assertMatch(second, /main\.js:4:\d+/)
    for (const secret of ['/work', 'program.js', 'runtime.js', Deno.cwd(), 'deno_node']) {
      assert(!error.stack!.includes(secret), error.stack)
    }
    for (const kind of ['RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError', 'Error']) {
      const { name, thrown } = await rejection(run(`throw new ${kind}('x')`), ThrownError)
      assertEquals([name, (thrown as Error).constructor.name], [kind, kind])
    }
    const own = await rejection(
      run(
        `console.log('so far'); class OwnError extends TypeError { name = 'OwnError' }\nthrow new OwnError('x', { cause: { code: 7 } })`,
      ),
      ThrownError,
    )
    assertEquals([own.name, own.logs, own.cause], ['OwnError', 'so far\n', { code: 7 }])
    const plain = await rejection(run(`throw { code: 7 }`), ThrownError)
    assertEquals(plain.thrown, { code: 7 })
  })

  test('a syntax error names its line', async () => {
    for (const language of ['js', 'ts'] as const) {
      const error = await rejection(run('const a = 1\nlet b = = 2', { language }), ThrownError)
      assertEquals(error.name, 'SyntaxError')
      assertStringIncludes(error.stack!, `main.${language}:2:9`)
    }
  })

  test('a missing export, a missing module and the network say what to do', async () => {
    const missing = await rejection(run('export const a = 1'), ThrownError)
    assertStringIncludes(missing.message, 'does not export it, want one of its exports: a')
    for (const specifier of ['lodash', 'https://example.com/a.js', 'npm:lodash']) {
      const error = await rejection(run(`import a from '${specifier}'`), ThrownError)
      assertStringIncludes(error.message, `Cannot import '${specifier}'`)
      assertStringIncludes(error.message, 'bundled')
    }
  })

  test('limits end a run with their own error, and the next run is clean', async () => {
    const events: LifecycleEvent[] = []
    const stop = sandbox().on('sandbox:*', (event) => void events.push(event))
    const loop = await rejection(run('console.log("before"); for (;;);', { timeoutMs: 60 }), TimeoutError)
    assertEquals([loop.limit.name, loop.limit.value, loop.logs], ['timeoutMs', 60, 'before\n'])
    // Its deadline was counted from a moment before the queue.
    assert(loop.limit.used! >= 59, `${loop.limit.used} ms`)
    const cpu = await rejection(run('for (;;);', { cpuMs: 40, timeoutMs: 20_000 }), TimeoutError)
    assertEquals([cpu.limit.name, cpu.limit.value], ['cpuMs', 40])
    const memory = await rejection(
      run('const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))', {
        memoryMb: 32,
        timeoutMs: 20_000,
      }),
      MemoryError,
    )
    assertEquals(memory.limit.name, 'memoryMb')
    const output = await rejection(
      run('export default new Uint8Array(70_000)', { outputBytes: 65_536 }),
      OutputError,
    )
    assertEquals(output.limit, { name: 'outputBytes', value: 65_536 })
    const value = await rejection(
      run('export default "x".repeat(2000)', { valueBytes: 1000 }),
      OutputError,
    )
    assertEquals(value.limit.name, 'valueBytes')
    const never = await rejection(run('export default () => new Promise(() => {})'), ThrownError)
    assertStringIncludes(never.message, 'nothing will settle')
    assertEquals(await valueOf('export default "clean"'), 'clean')
    stop()
    const told = events.map(({ kind }) => kind).filter((kind) => kind !== 'sandbox:complete')
    assertEquals(told.slice(0, 3), ['sandbox:timeout', 'sandbox:timeout', 'sandbox:memory'])
  })

  test('a log is cut at its limit', async () => {
    const { logs } = await run('for (let i = 0; i < 1000; i++) console.log("0123456789")', { logBytes: 100 })
      .catch(
        (error) => error,
      )
    assertEquals(logs.length, 100)
  })

  if (runtime === 'deno') {
    test('what the machine has not is refused, and a program that ends itself is told of', async () => {
      const exit = await rejection(run('Deno.exit(3)'), CrashError)
      assertStringIncludes(exit.message, 'status 3')
      const file = await rejection(run('Deno.readTextFileSync("/etc/passwd")'), ThrownError)
      assertMatch(file.name, /NotFound|NotCapable/)
      const calls = await rejection(
        run('const byte = new Uint8Array(1); for (;;) Deno.stderr.writeSync(byte)', {
          systemCalls: 2000,
          timeoutMs: 60_000,
        }),
        CallsError,
      )
      assertStringIncludes(calls.message, '2000')
    })

    test('WebAssembly modules come compiled', async () => {
      // (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))
      const wasm = Uint8Array.fromHex(
        '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
      )
      const worker = sandbox().load({
        mainModule: 'main.js',
        modules: {
          'main.js':
            'import m from "./add.wasm"; const { exports } = new WebAssembly.Instance(m); export const add = exports.add; export const sum = (a, b) => exports.add(a, b)',
          'add.wasm': { wasm },
        },
      })
      assertEquals(await worker.call('sum', 2, 3), 5)
    })
  }

  test('two runs never see each other', async () => {
    const secret = crypto.randomUUID()
    await run(
      `globalThis.planted = args => args; globalThis.secret = ${JSON.stringify(secret)}
       Object.prototype.planted = globalThis.secret; Array.prototype.secret = 1
       Math.random = () => 4; Symbol.for(globalThis.secret); console.log(globalThis.secret)
       export default 1`,
    )
    const { value, logs } = await run(
      `const seen = [typeof globalThis.planted, typeof globalThis.secret, ({}).planted, [].secret, Math.random() === 4]
       export default seen`,
    )
    assertEquals([value, logs], [['undefined', 'undefined', undefined, undefined, false], ''])
  })

  test('randomness is new in every run', async () => {
    const draw =
      'export default [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(4)).join()]'
    const drawn = new Set<unknown>()
    for (let i = 0; i < 20; i++) for (const one of await valueOf(draw) as unknown[]) drawn.add(one)
    assertEquals(drawn.size, 60)
  })

  test('a module of one run is not there in the next, whatever its name', async () => {
    const load = (lib: string) =>
      sandbox().load({
        mainModule: 'main.js',
        modules: { 'main.js': 'export { default } from "./lib.js"', 'lib.js': lib },
      })
    assertEquals(await load('export default () => 1').call('default'), 1)
    assertEquals(await load('export default () => 2').call('default'), 2)
    await rejection(run('import a from "./lib.js"; export default a'), ThrownError)
  })
})

Deno.test('options and arguments that are none are refused in words', async () => {
  await assertRejects(() => Sandbox.open({ vms: 0 }), RangeError, 'vms is 0')
  await assertRejects(
    () => Sandbox.open({ vmz: 1 } as never),
    TypeError,
    'vmz is no option, did you mean vms',
  )
  await assertRejects(
    () => Sandbox.open({ vms: 257 }),
    RangeError,
    'open a sandbox: vms is 257, want an integer from 1',
  )
  await assertRejects(
    () => Sandbox.open({ queue: 1e6 }),
    RangeError,
    'queue is 1000000, want an integer from 1',
  )
  await assertRejects(
    () => Sandbox.open({ runtime: 'v8' } as never),
    TypeError,
    'runtime is "v8", want one of',
  )
  await assertRejects(
    () => Sandbox.open({ limits: { memoryMb: 1 } }),
    RangeError,
    'limits.memoryMb is 1, want an integer from 16 to 4096',
  )
  await assertRejects(
    () => Sandbox.open({ limits: { thread: 64 } } as never),
    TypeError,
    'limits.thread is no option, did you mean limits.threads',
  )
  await assertRejects(() => Sandbox.open({ limits: { timeoutMs: -1 } }), RangeError, 'timeoutMs')
  await assertRejects(() => Sandbox.open({ limits: { subRequests: 1 } as never }), TypeError, 'subRequests')
})
