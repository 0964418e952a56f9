import { assertEquals, assertRejects, assertThrows } from '@std/assert'
import { parse } from 'acorn'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import { readIsolated } from '../../src/isolate/plan/literal.ts'
import { evaluateLiteral } from '../../src/compiler/literal_value.ts'
import { type ParkedOptions, resolveParked } from '../../src/isolate/machines/machines.ts'
import { findDifference, resolveIsolateOptions } from '../../src/isolate/plan/options.ts'
import { RandomSource } from './random_source.ts'

Deno.test('readIsolated gives the value of the declaration', async () => {
  const cases: [source: string, value: unknown][] = [
    ['export const isolated = true', true],
    ['export const isolated: boolean = false as const', false],
    [
      `import type { IsolateOptions } from 'x'\nexport const isolated = {\n  timeoutMs: 500, // quick\n  outputBytes: 8 << 20,\n  memoryMb: (64 + 32) * 2 / 3,\n} satisfies IsolateOptions`,
      {
        timeoutMs: 500,
        outputBytes: 8 << 20,
        memoryMb: 64,
      },
    ],
    [
      `export const isolated = { env: ['A', "B\\u0041", \`C\`], warmup: [{ path: '/a?b=1', body: { n: -1.5e3, x: [null, undefined] } }] }`,
      {
        env: ['A', 'BA', 'C'],
        warmup: [{ path: '/a?b=1', body: { n: -1500, x: [null, undefined] } }],
      },
    ],
    [`const isolated = { 'ephemeral': !1, "a-b": 0x10, 7: 1_000 }\nexport { isolated }`, {
      ephemeral: false,
      'a-b': 16,
      7: 1000,
    }],
    [
      'const s = `\nexport const isolated = 5\nconst isolated = 6;\n`\nconst r = /const isolated = 7/\nexport const isolated = 8 // export const isolated = 9',
      8,
    ],
    [
      `export function f() {\nconst isolated = 1\nreturn isolated }\nexport const isolated = { note: 'const isolated = 2' }`,
      { note: 'const isolated = 2' },
    ],
    [`export const isolated = 'a' + 'b'`, 'ab'],
  ]
  for (const [source, value] of cases) {
    const got = await readIsolated('a.ts', '/a.ts', source)
    assertEquals(JSON.stringify(got), JSON.stringify(value), source)
  }
  assertEquals(
    await readIsolated(
      'a.tsx',
      '/a.tsx',
      'export const isolated = true\nexport const a = <b>\nconst isolated = 5;\n</b>',
    ),
    true,
  )
  assertEquals(await readIsolated('a.mjs', '/a.mjs', 'export const isolated = true'), true)
})

Deno.test('readIsolated names file and line of what is no literal', async () => {
  const cases: [source: string, line: number, column: number, text: string][] = [
    ['\nexport const isolated = { timeoutMs: Number(5) }', 2, 38, "'Number(5)"],
    ['const ms = Date.now()\n\nexport const isolated = {\n  env: [],\n  timeoutMs: ms,\n}', 5, 14, "'ms"],
    ['export const isolated = {\n  ...x,\n}', 2, 3, "'...x"],
    ['export const isolated = { warmup: [() => 5] }', 1, 36, "'() => 5'"],
    ['export const isolated = Object.freeze({})', 1, 25, "'Object"],
    ['export const isolated = `a${1 + x}`', 1, 25, ''],
    ['export const isolated = { get a() { return 1 } }', 1, 31, "'get a()"],
    ['export const isolated = { [1 + 1]: 2 }', 1, 27, "'["],
    ['export const isolated = true && check()', 1, 33, "'check()"],
    ['export let isolated = true', 1, 12, 'no such declaration'],
    [`export { isolated } from './x.ts'`, 1, 10, 'no such declaration'],
    [`const x = true\nexport { x as isolated }`, 2, 15, 'no such declaration'],
  ]
  for (const [source, line, column, text] of cases) {
    const error = await assertRejects(() => readIsolated('r.ts', '/r.ts', source), ProgramError, text, source)
    assertEquals([error.place?.file, error.place?.line], ['r.ts', line], `${source}: ${error.message}`)
    assertEquals(
      Math.abs(error.place!.column - column) <= 8,
      true,
      `${source}: ${error.message}, want column ${column}`,
    )
  }
  const broken = await assertRejects(() => readIsolated('r.ts', '/r.ts', '\nexport const = 1'), ProgramError)
  assertEquals([broken.place?.file, broken.place?.line], ['r.ts', 2])
})

Deno.test('evaluateLiteral agrees with JavaScript, and refuses everything else', () => {
  const random = new RandomSource(3)
  const make = (depth: number): string => {
    const kind = random.below(depth > 3 ? 6 : 12)
    if (kind < 2) return random.pick(['0', '1.5', '.25', '2e3', '0xff', '7', '1024', '0b101', '3.'])
    if (kind < 4) return random.pick(['"a\\n\\u0041"', "'x'", '"\\x41\\u{1F600}"', "''", '"it\\\'s"'])
    if (kind === 4) return random.pick(['true', 'false', 'null', 'undefined', 'void 0'])
    if (kind === 5) return `-${random.below(9)}`
    if (kind === 6) return `[${make(depth + 1)}, ${make(depth + 1)}]`
    if (kind === 7) return `{ a: ${make(depth + 1)}, "b c": ${make(depth + 1)}, 3: ${make(depth + 1)} }`
    const number = () => String(random.below(50))
    return `(${number()} ${
      random.pick(['+', '-', '*', '/', '%', '<<', '>>', '>>>', '|', '&', '^'])
    } ${number()} ${random.pick(['+', '*', '<<', '|'])} ${number()})`
  }
  for (let round = 0; round < 500; round++) {
    const text = make(0)
    assertEquals(plain(evaluateText(text)), plain(new Function(`return (${text})`)()), text)
  }
  const bad = [
    '',
    'x',
    '{',
    '[1',
    '"a',
    '1 +',
    '1 ** 2',
    'a.b',
    'f()',
    '(1',
    '{a}',
    '{a:1',
    '1n',
    'new X',
    '/x/',
    '1 == 1',
    '"a" * 2',
    '-"a"',
    'true ? 1 : 2',
    '1 || 2',
    '{ a() {} }',
    '[...a]',
    'null.x',
    '"a".b',
    '1 2',
    '"\\u{ffffff}"',
    '['.repeat(50) + ']'.repeat(50),
    '- '.repeat(50) + '1',
    '~'.repeat(50) + '1',
    '1n',
    '[,]',
    '`${1}`',
    'void 1',
    '{ ["a"]: 1 }',
    '{ get a() { return 1 } }',
  ]
  for (const text of bad) {
    assertThrows(() => evaluateText(text), SyntaxError, undefined, text.slice(0, 30))
  }
  for (let round = 0; round < 5000; round++) {
    const text = Array.from(
      { length: random.below(12) },
      () =>
        random.pick([
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '"a"',
          '1',
          '-',
          '+',
          'x',
          'true',
          ' ',
          '<<',
          '(',
          ')',
          "'",
          '\\',
        ]),
    ).join('')
    try {
      assertEquals(plain(evaluateText(text)), plain(new Function(`return (${text})`)()), text)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
  }
})

/** The value of an expression that is a literal. Throws `SyntaxError` for what is none, `LiteralError` where it parses. */
function evaluateText(text: string): unknown {
  const code = `(${text}\n)`
  const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  if (body.length !== 1 || body[0].type !== 'ExpressionStatement') throw new SyntaxError('no expression')
  return evaluateLiteral(body[0].expression, code)
}

/** A value with prototypes, so that it compares to one of JavaScript's. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

Deno.test('resolveIsolateOptions fills in defaults, the router before its own', () => {
  const limits = {
    files: 1024,
    threads: 64,
    mappings: 65_530,
    systemCalls: 1_000_000,
    logBytes: 65_536,
    streamMs: 600_000,
    streamIdleMs: 60_000,
    streamBytes: 67_108_864,
  }
  const own = {
    runtime: 'deno' as const,
    timeoutMs: 1000,
    cpuMs: 0,
    memoryMb: 128,
    outputBytes: 8388608,
    warmup: 1000,
    ephemeral: true,
    env: [],
    may: [],
    bindings: [],
    allowedOrigins: null,
    outbound: false,
    coarseClockUs: 0,
    limits,
    group: null,
    program: null,
  }
  assertEquals(resolveIsolateOptions('a.ts', true), own)
  assertEquals(resolveIsolateOptions('a.ts', {}, { timeoutMs: 5, memoryMb: 64 }), {
    ...own,
    timeoutMs: 5,
    memoryMb: 64,
  })
  const given = { timeoutMs: 9, ephemeral: false, env: ['B', 'A', 'B'], warmup: [{ path: '/' }] }
  const resolved = resolveIsolateOptions('a.ts', given, { timeoutMs: 5 })
  assertEquals(resolved, { ...own, ...given, env: ['A', 'B'] })
  assertEquals(findDifference(resolved, { ...resolved, warmup: 3 }), null)
  const others: Partial<typeof resolved>[] = [
    { ephemeral: true },
    { runtime: 'core' },
    { cpuMs: 1 },
    { coarseClockUs: 1 },
    { env: ['A'] },
    { may: ['cookies'] },
    { bindings: ['MAIL'] },
    { outbound: true },
    { limits: { ...limits, threads: 63 } },
  ]
  for (const other of others) {
    assertEquals(findDifference(resolved, { ...resolved, ...other }), Object.keys(other)[0])
  }
  assertEquals(resolveIsolateOptions('a.ts', { group: 'shop-1' }).group, 'shop-1')
  for (const group of ['', 'a b', 'x'.repeat(65), 1]) {
    assertThrows(() => resolveIsolateOptions('a.ts', { group }), TypeError, 'isolated.group is ')
  }
  const may = ['state', 'headers:X-Request-Id', 'headers:*', 'state', 'session', 'cookies']
  assertEquals(resolveIsolateOptions('a.ts', { may }).may, [
    'cookies',
    'headers:*',
    'headers:x-request-id',
    'session',
    'state',
  ])
  const each = resolveIsolateOptions('a.ts', { limits: { files: 64, logBytes: undefined } }, {
    cpuMs: 7,
    coarseClockUs: 50,
    runtime: 'core',
    limits: { files: 65, threads: 40, logBytes: 0 },
  })
  assertEquals(each, {
    ...own,
    runtime: 'core',
    cpuMs: 7,
    coarseClockUs: 50,
    limits: { ...limits, files: 64, threads: 40, logBytes: 0 },
  })
})

Deno.test('resolveIsolateOptions names every fault with the value and what is wanted', () => {
  const cases: [value: unknown, Kind: typeof TypeError | typeof RangeError, text: string][] = [
    [5, TypeError, 'Cannot isolate a.ts: isolated is 5, want true or an object of options'],
    [[], TypeError, 'want true or an object'],
    [
      { timeout: 5 },
      TypeError,
      'isolated.timeout is no option, did you mean isolated.timeoutMs',
    ],
    [{ __proto__: null, toString: 5 }, TypeError, 'isolated.toString is no option'],
    [{ timeoutMs: 0 }, RangeError, 'isolated.timeoutMs is 0, want an integer from 1 to 600000'],
    [{ timeoutMs: '5' }, TypeError, 'isolated.timeoutMs is "5"'],
    [{ runtime: 'v8' }, TypeError, 'isolated.runtime is "v8", want one of "deno", "core"'],
    [{ memoryMb: 8 }, RangeError, 'isolated.memoryMb is 8, want an integer from 16 to 4096'],
    [{ outputBytes: 2 ** 31 }, RangeError, 'isolated.outputBytes is 2147483648'],
    [{ warmup: -1 }, RangeError, 'isolated.warmup is -1'],
    [
      { warmup: 'users.json' },
      TypeError,
      'isolated.warmup is "users.json", want an integer from 0 to 100000, a file',
    ],
    [{ warmup: './users.txt' }, TypeError, 'isolated.warmup is "./users.txt"'],
    [
      { warmup: [{ path: '/a' }, { path: 'a' }] },
      TypeError,
      `isolated.warmup has an entry 2 that is none: path is "a", want a path that begins with '/'`,
    ],
    [{ warmup: [{ path: '/a', method: 'A B' }] }, TypeError, 'method is "A B", want a method'],
    [{ ephemeral: 'no' }, TypeError, 'want true or false'],
    [{ cpuMs: 0 }, RangeError, 'isolated.cpuMs is 0, want an integer from 1 to 600000'],
    [{ limits: 5 }, TypeError, 'isolated.limits is 5, want an object'],
    [
      { limits: { fds: 5 } },
      TypeError,
      'isolated.limits.fds is no option, want one of files, threads, mappings',
    ],
    [
      { limits: { threads: '5' } },
      TypeError,
      'isolated.limits.threads is "5", want an integer from 40 to 1024',
    ],
    [
      { limits: { threads: 1025 } },
      RangeError,
      'isolated.limits.threads is 1025, want an integer from 40 to 1024',
    ],
    [{ env: ['A=B'] }, TypeError, 'want an array of names'],
    [{ may: 'cookies' }, TypeError, 'isolated.may is "cookies", want an array of \'session\''],
    [{ may: ['cookie'] }, TypeError, 'isolated.may is [ "cookie" ]'],
    [{ may: ['headers'] }, TypeError, 'isolated.may is [ "headers" ]'],
    [{ may: ['headers:'] }, TypeError, 'isolated.may is [ "headers:" ]'],
    [{ may: ['headers:a b'] }, TypeError, 'isolated.may is [ "headers:a b" ]'],
    [{ may: ['headers:Set-Cookie'] }, TypeError, "neither set-cookie ('cookies')"],
    [{ may: ['headers:connection'] }, TypeError, 'nor of the connection'],
    [{ env: ['LD_PRELOAD'] }, TypeError, 'none that configures Deno itself'],
    [{ env: ['DENO_DIR'] }, TypeError, 'none that configures Deno itself'],
    [
      { timeoutMs: 0, ephemeral: 1 },
      RangeError,
      'isolated.timeoutMs is 0, want an integer from 1 to 600000; isolated.ephemeral is 1',
    ],
  ]
  for (const [value, Kind, text] of cases) {
    assertThrows(() => resolveIsolateOptions('a.ts', value), Kind, text)
  }
})

Deno.test('resolveParked bounds machines that wait: one program by no more than all, memory by their number', () => {
  const cases: [given: ParkedOptions, each: number, all: number, eachMb: number, allMb: number][] = [
    [{}, 256, 1024, 1024, 4096],
    [{ each: 1000 }, 1000, 1024, 4000, 4096],
    [{ each: 2000, all: 8000 }, 2000, 8000, 8000, 32_000],
    [{ all: 3 }, 3, 3, 1024, 4096],
    [{ eachMb: 64 }, 256, 1024, 64, 4096],
    [{ eachMb: 9000 }, 256, 1024, 9000, 9000],
    [{ allMb: 100 }, 256, 1024, 100, 100],
    [{ eachMb: 50, allMb: 20 }, 256, 1024, 50, 20],
  ]
  for (const [given, each, all, eachMb, allMb] of cases) {
    assertEquals(resolveParked(given), { each, all, eachMb, allMb }, JSON.stringify(given))
  }
})
