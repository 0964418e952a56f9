import { assert, assertEquals, assertNotEquals, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import { resolveIsolateOptions } from '../../src/isolate/plan/options.ts'
import { matchPath, samplePath } from '../../src/isolate/warm/path_pattern.ts'
import { guestArguments, planPrograms } from '../../src/isolate/plan/program.ts'
import { toHostError } from '../../src/isolate/plan/stack.ts'
import { ask, exchange, toRoutes, withGuest, withRoutes } from './guest_process.ts'
import { decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { WIDEST } from '../../src/isolate/wire/wire.ts'

const GET = `export function GET() { return new Response('x') }`

Deno.test('each file is a program of its own, or all files of a group are; a broken one is left out', async () => {
  const files = {
    'a.ts': `export const isolated = { group: 'g' }\n${GET}`,
    'b.ts': `export const isolated = { group: 'g', timeoutMs: 1000, warmup: 5 }\n${GET}`,
    'c.ts': `export const isolated = { ephemeral: false }\n${GET}`,
    'd.ts': `import './missing.ts'\nexport const isolated = { group: 'g' }\n${GET}`,
    'e.ts': `export const isolated = { timeoutMs: later() }\n${GET}`,
    'f.ts': `export const isolated = { timeoutMs: -1 }\n${GET}`,
    'g.ts': `export const isolated = { warmup: [{ path: '/other' }] }\n${GET}`,
    'h.ts': `export const isolated = true\n${GET}`,
    'i.ts': `export const isolated = true\n${GET}`,
    'j.ts': `import './missing.ts'\nexport const isolated = true\n${GET}`,
  }
  await withRoutes(files, async (folder) => {
    const { programs, failures } = await planPrograms(toRoutes(folder, files))
    assertEquals(
      programs.map(({ handlers }) => handlers.map(({ route, method }) => `${route.file} ${method}`)),
      [['a.ts GET', 'b.ts GET'], ['c.ts GET'], ['h.ts GET'], ['i.ts GET']],
    )
    assertEquals(programs.map(({ options }) => options.ephemeral), [true, false, true, true])
    assertEquals(failures.map(({ route, error }) => [route.file, error.name]), [
      ['e.ts', 'ProgramError'],
      ['f.ts', 'RangeError'],
      ['g.ts', 'TypeError'],
      ['d.ts', 'ProgramError'],
      ['j.ts', 'ProgramError'],
    ])
    assertStringIncludes(failures[0].error.message, '(e.ts:1:')
    assertEquals(programs[0].warmup.map(({ count }) => count), [200, 200, 200, 200, 200, 1, 1, 1, 1, 1])
  })
})

Deno.test('files of a group with other options are left out, and the error names both and the option', async () => {
  const files = {
    'a.ts': `export const isolated = { group: 'g', memoryMb: 64 }\n${GET}`,
    'b.ts': `export const isolated = { group: 'g', memoryMb: 32 }\n${GET}`,
    'c.ts': `export const isolated = { group: 'g', memoryMb: 64, limits: { files: 100 } }\n${GET}`,
    'd.ts': `export const isolated = { group: 'other' }\n${GET}`,
  }
  await withRoutes(files, async (folder) => {
    const { programs, failures } = await planPrograms(toRoutes(folder, files))
    assertEquals(programs.map(({ handlers }) => handlers.map(({ route }) => route.file)), [['a.ts'], [
      'd.ts',
    ]])
    assertEquals(failures.map(({ route }) => route.file), ['b.ts', 'c.ts'])
    assertEquals(
      failures[0].error.message,
      "Cannot put b.ts into the group 'g' of a.ts: isolated.memoryMb is 32, and 64 there, want equal options in all files of a group",
    )
    assertStringIncludes(failures[1].error.message, 'c.ts')
    assertStringIncludes(failures[1].error.message, 'isolated.limits is {')
  })
})

Deno.test('the hash of a program changes with all that the guest sees, and with nothing else', async () => {
  const files = {
    'a.ts':
      `import { x } from './_b.ts'\nexport const isolated = { env: ['MAYFLY_X'] }\nexport function GET() { return new Response(x) }`,
    '_b.ts': `export const x = '1'`,
  }
  await withRoutes(files, async (folder) => {
    const plan = async (value?: string) =>
      (await planPrograms(toRoutes(folder, files), { readEnv: () => value })).programs[0]
    const first = await plan('1')
    assertEquals((await plan('1')).hash, first.hash)
    assertEquals(first.id, first.hash.slice(0, 12))
    assertNotEquals((await plan('2')).hash, first.hash)
    assertEquals([first.env.MAYFLY_X, (await plan()).env.MAYFLY_X], ['1', undefined])
    const { inputs } = first.bundle
    assertEquals(['_b.ts', '_c.ts'].map((name) => inputs.includes(join(folder, name))), [true, false])
    await Deno.writeTextFile(join(folder, '_b.ts'), `export const x = '2'`)
    assertNotEquals((await plan('1')).hash, first.hash)
  })
})

Deno.test('guestArguments gives no permission but the named variables and NODE_ENV', () => {
  const args = guestArguments(resolveIsolateOptions('a', true), '/program.js')
  assertEquals([args[0], args.at(-1), args.filter((arg) => arg.startsWith('--allow') || arg === '-A')], [
    'run',
    '/program.js',
    ['--allow-env=NODE_ENV'],
  ])
  const named = guestArguments(resolveIsolateOptions('a', { env: ['Z', 'A'] }), '/p.js')
  assertEquals(named.filter((arg) => arg.startsWith('--allow')), ['--allow-env=A,NODE_ENV,Z'])
})

Deno.test('warm-up frames run through their handlers', async () => {
  const files = {
    'a.ts':
      `export const isolated = true\nconst seen = []\nexport function GET(ctx) { seen.push(ctx.get.header('x-mayfly-warmup')); return ctx.send.json(seen) }
      export async function POST(ctx) { return ctx.send.json(await ctx.get.json()) }`,
  }
  await withGuest(files, async (guest) => {
    assertEquals(guest.program.warmup.map(({ count }) => count), [
      ...new Array(5).fill(200),
      ...new Array(10).fill(100),
    ])
    for (const { frame } of guest.program.warmup) {
      assertEquals(decodeResponse(await exchange(guest, frame), WIDEST).head.status, 200)
    }
    assertEquals((await ask(guest, {})).text, '["1","1","1","1","1",null]')
  })
})

Deno.test('matchPath and samplePath know every kind of segment', () => {
  const cases: [pattern: string, sample: string, path: string, params: Record<string, string> | null][] = [
    ['/', '/', '/', {}],
    ['/a.b', '/a.b', '/axb', null],
    ['/[a]/x/[b]', '/1/x/1', '/p%20q/x/2/', { a: 'p q', b: '2' }],
    ['/docs/[...rest]', '/docs/1', '/docs/a/b', { rest: 'a/b' }],
    ['/l/[[lang]]', '/l/1', '/l', {}],
    ['/l/[[lang]]', '/l/1', '/l/de', { lang: 'de' }],
    ['/user-[id].json', '/user-1.json', '/user-7.json', { id: '7' }],
    ['/[a]', '/1', '/a/b', null],
  ]
  for (const [pattern, sample, path, params] of cases) {
    assertEquals(samplePath(pattern, '1'), sample)
    assertEquals(
      matchPath(pattern, path),
      params === null ? null : Object.assign(Object.create(null), params),
      `${pattern} ${path}`,
    )
    assert(matchPath(pattern, sample) !== null, pattern)
  }
})

Deno.test('a stack of a guest names the file and line of the user', async () => {
  const files = {
    'deep.ts':
      `import { fail } from './_lib.ts'\n\ninterface Unused { a: string }\n\nexport const isolated = true\nexport function GET(): Response {\n  return fail('GET')\n}\nexport async function POST() {\n  await null\n  return fail('POST')\n}`,
    '_lib.ts':
      `type T = string\n\nexport function fail(what: T): never {\n  const text: T = what\n  throw new RangeError('no ' + text)\n}`,
  }
  await withGuest(files, async (guest) => {
    for (const [method, line] of [['GET', 7], ['POST', 11]] as const) {
      const error = toHostError(guest.program.stacks, (await ask(guest, { method })).head.error!)
      const [first, inner, outer, ...rest] = error.stack!.split('\n')
      assertEquals(first, `RangeError: no ${method}`)
      assertStringIncludes(inner, '/_lib.ts:5:9)')
      assertStringIncludes(outer, `/deep.ts:${line}:10)`)
      assertEquals(rest, [])
      assertEquals(error.name, 'RangeError')
    }
  })
})

Deno.test('the isolated routes of the benchmark answer as the plain ones do', async () => {
  const routes = new URL('../../benchmark/routes/', import.meta.url)
  const source = (name: string) =>
    Deno.readTextFileSync(new URL(name, routes)).replace('../work.ts', './_work.ts')
  const files = {
    'one.ts': source('test-isolated.ts'),
    'two.ts': source('test-isolated-cpu.ts'),
    '_work.ts': source('../work.ts'),
  }
  await withGuest(files, async (guest) => {
    assertEquals((await ask(guest, { file: 'one.ts' })).text, '{"hello":"world!"}')
    let sum = 0
    for (let i = 0; i < 50_000; i++) sum += Math.sqrt(i)
    const { value } = JSON.parse((await ask(guest, { file: 'two.ts' })).text)
    assert(Math.abs(value - sum) / sum < 1e-4, `${value} ${sum}`)
  })
})
