import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import {
  BREATH_BYTES,
  judgeMemory,
  LIMIT_BYTES,
  measureMemory,
  type ProgramsMemory,
} from '../../benchmark/programs/memory.ts'
import { type ProgramsReport, toProgramsMarkdown } from '../../benchmark/programs/report.ts'

const MIB = 1 << 20
const IGNORE = Deno.build.os !== 'linux'

function memory(mib: number, availableMib = 4000): ProgramsMemory {
  return { bytes: mib * MIB, snapshotBytes: mib / 2 * MIB, availableBytes: availableMib * MIB }
}

Deno.test('growth behind the second point is seen, and so is memory over the limit at any point', () => {
  const [breath, limit] = [BREATH_BYTES / MIB, LIMIT_BYTES / MIB]
  const judge = (idle: number, ...points: number[]) =>
    judgeMemory(memory(idle), points.map((mib) => memory(mib)))
  assertEquals(judge(100, 300, 200, 400, 200 + breath), { constant: true, within: true })
  assertEquals(judge(100, 200, 200, 201 + breath), { constant: false, within: true })
  assertEquals(judge(100, 100, limit), { constant: true, within: true })
  assertEquals(judge(limit + 1, 100, 100), { constant: true, within: false })
  assertEquals(judge(100, limit + 1, 100, 100), { constant: true, within: false })
})

Deno.test('the report tells every runtime, all memory, and what went wrong', () => {
  const good: ProgramsReport = {
    machine: { cpu: 'A CPU', cores: 2, memoryGiB: 8, system: 'linux 6 x86_64', deno: '2.9.6', v8: '15' },
    date: '2026-01-02T00:00:00.000Z',
    programs: 4,
    requests: 1000,
    warmup: 20,
    seconds: 12.4,
    wrong: 0,
    starts: [
      {
        runtime: 'deno',
        programs: 3,
        baseBootMs: 80.4,
        baseBytes: 45 * MIB,
        loadMs: 25.04,
        bootMs: 61,
        deltaBytes: 1.75 * MIB,
      },
      {
        runtime: 'core',
        programs: 1,
        baseBootMs: 50,
        baseBytes: 6 * MIB,
        loadMs: 8,
        bootMs: 9,
        deltaBytes: MIB,
      },
    ],
    before: memory(60, 4000),
    idle: memory(500),
    points: [memory(610), memory(620), memory(630, 3333)],
    limitBytes: LIMIT_BYTES,
    constant: true,
    good: true,
  }
  const text = toProgramsMarkdown(good)
  for (
    const part of [
      '# Many programs at once: passed\n',
      'A CPU, 2 cores, linux 6 x86_64, Deno 2.9.6; 2026-01-02T00:00:00.000Z. Medians; 20 warm-up requests.',
      '| deno | 3 | 80 ms | 45 MiB | 25.0 ms | 61 ms | 1.75 MiB |\n',
      '| core | 1 | 50 ms | 6 MiB | 8.0 ms | 9 ms | 1.00 MiB |\n',
      '4 programs, booted and idle: **500 MiB in all**, of which 250 are snapshots and 60 were there before.',
      'After 1000 requests spread over them, in 12 s: **630 MiB** (at most 2560 wanted; the machine has 667 MiB less)',
      ', constant. **0 wrong.**',
      'On the way: 610, 620, 630 MiB.',
    ]
  ) assertStringIncludes(text, part)
  const bad = toProgramsMarkdown({ ...good, wrong: 3, constant: false, good: false })
  for (const part of ['at once: FAILED\n', ', GROWING. **3 wrong.**']) assertStringIncludes(bad, part)
})

Deno.test({
  name: 'memory counts pages of this process, and those of a memory file once for all its descriptors',
  ignore: IGNORE,
  async fn() {
    const before = await measureMemory()
    assert(before.bytes > before.snapshotBytes && before.availableBytes > 0)
    const own = new Uint8Array(64 * MIB).fill(1)
    const after = await measureMemory()
    assert(after.bytes - before.bytes > 32 * MIB, `${before.bytes} ${after.bytes}`)
    assertEquals([after.snapshotBytes, own[MIB]], [before.snapshotBytes, 1])
    const libc = Deno.dlopen('libc.so.6', {
      memfd_create: { parameters: ['buffer', 'u32'], result: 'i32' },
      dup: { parameters: ['i32'], result: 'i32' },
      close: { parameters: ['i32'], result: 'i32' },
    })
    const { symbols: { memfd_create, dup, close } } = libc
    const file = memfd_create(new TextEncoder().encode('programs-test\0'), 0)
    const files = [file, dup(file)]
    try {
      await Deno.writeFile(`/proc/self/fd/${file}`, new Uint8Array(3 * MIB).fill(1))
      assertEquals((await measureMemory()).snapshotBytes - before.snapshotBytes, 3 * MIB)
    } finally {
      files.forEach((fd) => close(fd))
      libc.close()
    }
    assertEquals((await measureMemory()).snapshotBytes, before.snapshotBytes)
  },
})
