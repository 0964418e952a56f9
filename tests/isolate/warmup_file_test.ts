import { CLIENTS } from '../../src/isolate/warm/warmup_clients.ts'
import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import {
  MAX_WARMUP_FILE,
  parseWarmup,
  readWarmupFile,
  warmupPathOf,
} from '../../src/isolate/warm/warmup_file.ts'
import { toRoutes, withRoutes } from './guest_process.ts'

const GET = `export function GET() { return new Response('x') }`

Deno.test('a route names the file of its warm-up; what changes there changes the program', async () => {
  const files = {
    'a.ts': `export const isolated = { warmup: './a.warmup.json' }\n${GET}`,
    'a.warmup.json': '[{"path":"/a?b=1"}]',
  }
  await withRoutes(files, async (folder) => {
    const plan = async () => {
      const { programs, failures } = await planPrograms(toRoutes(folder, { 'a.ts': files['a.ts'] }))
      assertEquals(failures, [])
      return programs[0]
    }
    const first = await plan()
    assertEquals(first.warmup.length, CLIENTS.length)
    assertEquals(
      first.warmup.every(({ frame }) => new TextDecoder().decode(frame).includes('/a?b=1\t')),
      true,
    )
    await Deno.writeTextFile(join(folder, 'a.warmup.json'), '[{"path":"/a"}]')
    assertEquals((await plan()).hash === first.hash, false)
  })
})

Deno.test('a file that is none breaks its route, with file and line', async () => {
  const cases: [text: string, place: string, message: string][] = [
    [
      '[\n  {"path": "/a"},\n  {"path": "/a",}\n]',
      'routes/a.warmup.json:3:',
      "read the warm-up of 'routes/a.ts': ",
    ],
    ['', 'routes/a.warmup.json:1:', 'Unexpected end'],
    ['{}', 'routes/a.warmup.json:1:1', 'it holds no array'],
    [
      '[\n  { "path": "/a", "body": [{ "x": "],}{" }, 1] },\n\n  { "path": 5 }\n]',
      'routes/a.warmup.json:4:3',
      "entry 2: path is 5, want a path that begins with '/'",
    ],
    ['[1]', 'routes/a.warmup.json:1:2', 'entry 1: it is 1, want an object of method, path'],
    ['[{ "method": "GET" }]', ':1:2', 'entry 1: path is missing'],
    [
      '[{ "path": "/a", "heads": {} }]',
      ':1:2',
      'entry 1: heads is no member, want one of method, path, headers',
    ],
    [
      '[{ "path": "/a", "headers": { "a\\n": "" } }]',
      ':1:2',
      'entry 1: headers is { "a\\n": "" }, want an object of text',
    ],
    ['[{ "path": "/a", "headers": { "Content-Length": "1" } }]', ':1:2', 'entry 1: headers is'],
    ['[{ "path": "/a", "state": [] }]', ':1:2', 'entry 1: state is [], want an object'],
    ['[{ "path": "/%zz" }]', ':1:2', 'entry 1: path is "/%zz"'],
    [
      '[{ "path": "/a", "headers": { "content-type": "image/png" }, "body": 5 }]',
      ':1:2',
      'entry 1: body is undefined',
    ],
    [`[${'{"path":"/"},'.repeat(1001)}{"path":"/"}]`, ':1:1', 'it has 1002 requests, want at most 1000'],
  ]
  for (const [text, place, message] of cases) {
    const read = () => parseWarmup("read the warm-up of 'routes/a.ts'", 'routes/a.warmup.json', text)
    const error = await assertRejects(read, ProgramError, message)
    assertStringIncludes(error.message, place)
  }
})

Deno.test('a file lies in the project, is there, and is no larger than it may be', async () => {
  await withRoutes({ 'b.json': '[]' }, async (folder) => {
    const path = join(folder, 'routes/a.ts')
    await Deno.mkdir(join(folder, 'routes'))
    await Deno.writeTextFile(join(folder, 'routes/big.json'), ' '.repeat(MAX_WARMUP_FILE + 1))
    await Deno.symlink(join(folder, 'b.json'), join(folder, 'routes/link.json'))
    const read = (name: string) => () => readWarmupFile({ file: 'routes/a.ts', path, name })
    await assertRejects(read('./none.json'), ProgramError, "there is no file 'routes/none.json'")
    await assertRejects(read('./big.json'), ProgramError, `has ${MAX_WARMUP_FILE + 1} bytes`)
    await assertRejects(read('../b.json'), ProgramError, "'b.json': it lies outside of the project")
    await assertRejects(read('./link.json'), ProgramError, "'routes/link.json': it leads to ")
    await Deno.writeTextFile(join(folder, 'deno.json'), '{}')
    assertEquals(await read('../b.json')(), [])
    assertEquals(await read('./link.json')(), [])
  })
})

Deno.test('warmupPathOf is beside the route, whatever its name', () => {
  assertEquals(['/r/a.ts', '/r/[id].tsx', '/r/a.b.mjs'].map(warmupPathOf), [
    '/r/a.warmup.json',
    '/r/[id].warmup.json',
    '/r/a.b.warmup.json',
  ])
})
