/** Every limit of a description, as a C program meets it in a machine: each number reaches its place. */
import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import type { NativeLibrary } from '../../src/isolate/ffi/library.ts'
import { NativePool } from '../../src/isolate/ffi/native_pool.ts'
import type { Completion } from '../../src/isolate/machines/completion.ts'
import { NativeProgram } from '../../src/isolate/ffi/native_program.ts'
import { ask, compile, guestSpec, NO_MACHINE, openLibrary, ROOT, testWith, told } from './fixture.ts'

const LIMITS = {
  memoryBytes: 32 << 20,
  outputBytes: 9000,
  logBytes: 1000,
  bootMs: 20_000,
  cpuMs: 300,
  calls: 100,
  descriptors: 20,
  threads: 5,
  mappings: 60,
}

/** What a case is answered with, and what its request was denied. */
const CASES: readonly [asked: string, answer: string | RegExp, denied: string][] = [
  ['calls 99', '99 0', ''],
  ['calls 100', '(calls)', ''],
  // Three are open from the start; EMFILE is 24.
  ['descriptors 17', '17 0', ''],
  ['descriptors 18', '17 24', 'dup files 1'],
  // One is the program's own; EAGAIN is 11.
  ['threads 4', '4 0', ''],
  ['threads 5', '4 11', 'clone3 threads 1'],
  // ENOMEM is 12.
  ['mappings 20', '20 0', ''],
  ['mappings 70', /^[345]\d 12$/, 'mmap mappings 1'],
  ['log 1000', '1000 0', ''],
  ['log 1001', '1001 0', ''],
  ['body 9001', '(output)', ''],
  ['touch 9000', '(memory)', ''],
  ['work 100000', '(cpu)', ''],
  [
    'beyond 0',
    '0 0',
    'sys_9999 call 3, socket network 1, fork process 1, execve process 1, ptrace process 1',
  ],
]

testWith(
  NO_MACHINE,
  'every limit ends in its own way, is counted, and the next request is clean',
  async () => {
    const folder = await Deno.makeTempDir()
    try {
      const guest = join(folder, 'guest')
      const source = join(ROOT, 'native/pool/tests/limits/guest.c')
      await compile(['-O1', '-w', '-static', '-o', guest, source, '-lpthread'])
      using library = await openLibrary()
      await meetLimits(library, guest)
    } finally {
      await Deno.remove(folder, { recursive: true })
    }
  },
)

async function meetLimits(library: NativeLibrary, guest: string): Promise<void> {
  await using pool = new NativePool(library, { workers: 1, queue: 4, busyPollUs: 0 })
  await using program = await NativeProgram.boot(library, guestSpec(guest, { limits: LIMITS }))
  const send = (asked: string) => pool.submit(program, ask(asked), { timeoutMs: 60_000 })
  for (const [asked, answer, denied] of CASES) {
    const done = await send(asked)
    const found = told(done)
    assert(typeof answer === 'string' ? found === answer : answer.test(found), `${asked}: ${found}`)
    assertEquals(tellDenials(done), denied, asked)
    const isCut = asked === 'log 1001'
    assertEquals(
      [done.log.length, done.logDropped],
      [asked.startsWith('log') ? 1000 : 0, isCut ? 1 : 0],
      asked,
    )
    const next = await send('hello')
    assertEquals([told(next), next.denials, next.logDropped], ['hello', [], 0], `after ${asked}`)
  }
  const { outcomes, denials, logsCut, lost } = pool.statistics()
  const answered = 2 * CASES.length - 4
  assertEquals(outcomes, { answered, calls: 1, cpu: 1, memory: 1, output: 1 })
  assertEquals(denials, { call: 3, files: 1, mappings: 1, network: 1, process: 3, threads: 1 })
  assertEquals([logsCut, lost], [1, 0])
}

function tellDenials({ denials }: Completion): string {
  return denials.map(({ call, reason, times }) => `${call} ${reason} ${times}`).join(', ')
}
