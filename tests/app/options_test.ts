import { assert, assertEquals, assertThrows } from '@std/assert'
import { resolveOptions } from '../../src/app/options.ts'
import { toTrustedProxy } from '../../src/app/trust_proxy.ts'

Deno.test('resolveOptions fills in the documented defaults', () => {
  const options = resolveOptions({})
  assertEquals(options.routesDir, './routes')
  assertEquals(options.viewsDir, undefined)
  assertEquals(options.maxUrlLength, 8192)
  assertEquals(options.maxParamLength, 1024)
  assertEquals(options.maxIterations, 100_000)
  assertEquals(options.maxRenderIterations, 1_000_000)
  assertEquals(options.maxTemplateSize, 1_000_000)
  assertEquals(options.drainMs, 10_000)
  assertEquals(options.hotReload, undefined)
})

const FAULTS: [
  name: string,
  options: unknown,
  Kind: typeof TypeError | typeof RangeError,
  message: string,
][] = [
  [
    'text for a number',
    { maxUrlLength: '8' },
    TypeError,
    'maxUrlLength is "8", want an integer of at least 1',
  ],
  ['zero', { maxUrlLength: 0 }, RangeError, 'maxUrlLength is 0'],
  ['a fraction', { drainMs: 1.5 }, RangeError, 'drainMs is 1.5'],
  ['NaN', { maxBodyBytes: NaN }, RangeError, 'maxBodyBytes is NaN'],
  ['infinity', { maxBodyBytes: Infinity }, RangeError, 'maxBodyBytes is Infinity'],
  ['a negative time', { requestTimeoutMs: -1 }, RangeError, 'requestTimeoutMs is -1'],
  ['an empty folder', { routesDir: '' }, TypeError, 'routesDir is ""'],
  ['a number as folder', { viewsDir: 7 }, TypeError, 'viewsDir is 7'],
  ['an unknown name', { routeDir: 'x' }, TypeError, 'routeDir is no option, did you mean routesDir'],
  ['a name of Object.prototype', { toString: 1 }, TypeError, 'toString is no option'],
  ['a pool without script', { worker: {} }, TypeError, 'worker.scriptURL is missing'],
  ['a pool of nobody', { worker: { scriptURL: 'x', poolSize: 0 } }, RangeError, 'worker.poolSize is 0'],
  ['a pool that is text', { worker: 'x' }, TypeError, 'worker is "x", want an object'],
  [
    'an unknown way out',
    { isolate: { onUnavailable: 'ignore' } },
    TypeError,
    'isolate.onUnavailable is "ignore"',
  ],
  ['a filter that is none', { filters: { money: 1 } }, TypeError, 'filters has money, which is number, want'],
  ['a filter without a usable name', { filters: { 'a b': String } }, TypeError, 'filters has "a b"'],
  ['null', null, TypeError, 'options is null'],
  [
    'a time of isolated routes that none of them may ask for',
    { isolate: { timeoutMs: 1e7 } },
    RangeError,
    'isolate.timeoutMs is 10000000, want an integer from 1 to 600000',
  ],
  [
    'a memory of isolated routes that none of them may ask for',
    { isolate: { memoryMb: 1 } },
    RangeError,
    'isolate.memoryMb is 1, want an integer from 16 to 4096',
  ],
  ['a CPU time of an hour', { isolate: { cpuMs: 3_600_000 } }, RangeError, 'isolate.cpuMs is 3600000, want'],
  [
    'a limit by its name',
    { isolate: { limits: { threads: 1 } } },
    RangeError,
    'isolate.limits.threads is 1, want an integer from 40 to 1024',
  ],
  [
    'a limit that is none',
    { isolate: { limits: { thread: 64 } } },
    TypeError,
    'isolate.limits.thread is no option, did you mean isolate.limits.threads',
  ],
  ['more machines than the library has', { isolate: { vms: 257 } }, RangeError, 'isolate.vms is 257, want'],
  [
    'no memory for machines that wait',
    { isolate: { parked: { eachMb: 0 } } },
    RangeError,
    'isolate.parked.eachMb is 0, want',
  ],
  ['a queue without end', { isolate: { queue: 1e6 } }, RangeError, 'isolate.queue is 1000000, want'],
  [
    'a pool of a city',
    { worker: { scriptURL: 'x', poolSize: 5000 } },
    RangeError,
    'worker.poolSize is 5000, want an integer from 1 to 1024',
  ],
  [
    'a task that a timer cannot end',
    { worker: { scriptURL: 'x', taskTimeoutMs: 2 ** 31 } },
    RangeError,
    'worker.taskTimeoutMs is 2147483648, want an integer from 1 to 2147483647',
  ],
  [
    'a shutdown that a timer cannot end',
    { drainMs: 2 ** 31 },
    RangeError,
    'drainMs is 2147483648, want an integer from 0 to 2147483647',
  ],
  [
    'a deadline that a timer cannot keep',
    { requestTimeoutMs: 2 ** 31 },
    RangeError,
    'requestTimeoutMs is 2147483648, want an integer from 0 to 2147483647',
  ],
  [
    'a name far from all',
    { zzzzzzzz: 1 },
    TypeError,
    'zzzzzzzz is no option, want one of routesDir, viewsDir',
  ],
  ['proxies as text', { trustProxy: 'loopback' }, TypeError, 'trustProxy is "loopback"'],
]

for (const [name, options, Kind, message] of FAULTS) {
  Deno.test(`resolveOptions refuses ${name}`, () => {
    assertThrows(() => resolveOptions(options as never), Kind, message)
  })
}

Deno.test('resolveOptions names every fault at once', () => {
  const error = assertThrows(() => resolveOptions({ drainMs: -1, maxUrlLength: 0, hotReload: 1 } as never))
  const { message } = error as Error
  assert(['drainMs', 'maxUrlLength', 'hotReload'].every((name) => message.includes(name)), message)
})

Deno.test('toTrustedProxy trusts all, the nearest n, or a list', () => {
  assert(toTrustedProxy(true)('203.0.113.9', 5))
  assert(!toTrustedProxy(false)('127.0.0.1', 0))
  const two = toTrustedProxy(2)
  assertEquals([0, 1, 2].map((hop) => two('203.0.113.9', hop)), [true, true, false])
  const list = toTrustedProxy(['10.0.0.0/8', '::1', '192.0.2.1'])
  assertEquals(
    ['10.1.2.3', '11.0.0.1', '::1', '192.0.2.1', '192.0.2.2', ''].map((address) => list(address, 0)),
    [true, false, true, true, false, false],
  )
  assertThrows(() => toTrustedProxy(['10.0.0.0/99']), TypeError, '10.0.0.0/99')
  assertThrows(() => toTrustedProxy(['loopback']), TypeError, 'loopback')
})

Deno.test('resolveOptions takes isolate as an object or false', () => {
  assertEquals(resolveOptions({ isolate: false }).isolate, false)
  assertEquals(resolveOptions({ isolate: { vms: 1 } }).isolate, { vms: 1 })
  assertThrows(() => resolveOptions({ isolate: true } as never), TypeError, 'want an object or false')
  assertThrows(() => resolveOptions({ isolate: { vms: 0 } }), RangeError, 'isolate.vms is 0')
})
