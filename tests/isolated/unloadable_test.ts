/** Programs that do not load fail alone, and say where and why. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import { watchLoops } from '../../src/isolate/boot/load_failure.ts'
import { openSite, testIsolated } from './fixture.ts'

testIsolated(
  'a program that does not load names its file, its line and the option, and fails alone',
  async () => {
    const site = openSite('unloadable', { isolate: { vms: 1 } })
    const told = new Map<string, string>()
    site.router.on('route:error', ({ metadata: { file, error } }) => {
      const name = file.slice(file.lastIndexOf('/') + 1)
      assert(!told.has(name), `${name} is told once`)
      told.set(name, (error as Error).message)
    })
    try {
      assertEquals((await site.ask('/sound')).text, 'sound')
      for (const name of ['endless', 'exits', 'hoards', 'throws']) {
        assertEquals((await site.ask(`/${name}`)).status, 500, name)
        assertEquals((await site.ask('/sound')).text, 'sound')
        assertEquals((await site.ask(`/${name}`)).status, 500, name)
      }
    } finally {
      await site.close()
    }
    assertMatch(
      told.get('endless.ts')!,
      /^Cannot load \S*endless\.ts: .* works longer than 5 s, .*\(\/\S*endless\.ts:[67]:\d+\)$/,
    )
    assertMatch(
      told.get('exits.ts')!,
      /^Cannot load \S*exits\.ts: .* with status 3, .*\(\/\S*exits\.ts:6:8\)$/,
    )
    assertMatch(
      told.get('hoards.ts')!,
      /^Cannot load \S*hoards\.ts: .* memory .* memoryMb over 32 \(\/\S*hoards\.ts:[67]:\d+\)$/,
    )
    assertMatch(told.get('throws.ts')!, /Cannot read properties of undefined|Cannot destructure/)
  },
)

Deno.test('loops are watched as esbuild prints them, line by line', () => {
  const code = [
    'while (true) {',
    '  for (const x of [1]) {',
    '    do {',
    '    } while (x);',
    'outer: for (; ; ) ;',
    'let text = "while (true) {";',
    'while (a, b) ;',
    '  for (; ; )',
    '    all.push(1);',
    'for (let i = f(1); i < 2; i++)',
    '  all.push(1);',
  ]
  const watched = watchLoops(code.join('\n')).split('\n').slice(0, code.length)
  assertEquals(watched, [
    'while (__mayflyLook(), true) {',
    '  for (const x of [1]) { __mayflyLook();',
    '    do { __mayflyLook();',
    '    } while (__mayflyLook(), x);',
    'outer: for (; ; ) __mayflyLook();',
    'let text = "while (true) {";',
    'while (__mayflyLook(), a, b) ;',
    '  for (; ; __mayflyLook())',
    '    all.push(1);',
    'for (let i = f(1); i < 2; i++, __mayflyLook())',
    '  all.push(1);',
  ])
})
