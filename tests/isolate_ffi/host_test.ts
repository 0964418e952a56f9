/** What the library must not change in the process that loads it, and what its own threads are under. */
import { assert, assertEquals, assertThrows } from '@std/assert'
import { NativePool } from '../../src/isolate/ffi/native_pool.ts'
import { NativeProgram } from '../../src/isolate/ffi/native_program.ts'
import { ask, compileGuest, guestSpec, NO_MACHINE, openLibrary, testWith, told } from './fixture.ts'

/** Runs `body` while a pool has a machine. */
async function withMachines(body: () => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    using library = await openLibrary()
    await using pool = new NativePool(library, { workers: 2, queue: 16, busyPollUs: 0 })
    await using program = await NativeProgram.boot(library, guestSpec(await compileGuest(folder)))
    const hello = async () =>
      assertEquals(told(await pool.submit(program, ask('count'), { timeoutMs: 60_000 })), '1')
    await hello()
    await body()
    await hello()
    assertEquals(pool.statistics().crashes, 0)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** A member of a thread's `status` in `/proc`. */
function member(thread: string, name: string): string | undefined {
  const text = Deno.readTextFileSync(`${thread}/status`)
  return text.split('\n').find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim()
}

testWith(
  NO_MACHINE,
  'threads that run machines are under a filter, and no other thread is',
  () =>
    withMachines(() => {
      const filtered: string[] = []
      const own = (name: string) => member('/proc/self', name)
      for (const { name } of Deno.readDirSync('/proc/self/task')) {
        const path = `/proc/self/task/${name}`
        const thread = member(path, 'Name') ?? ''
        const state = [member(path, 'Seccomp'), member(path, 'NoNewPrivs')]
        if (/^mayfly-vm-/.test(thread)) {
          filtered.push(thread)
          assertEquals(state, ['2', '1'], thread)
        } else if (!thread.startsWith('kvm-')) { // those are KVM's own, and run in the kernel alone
          assertEquals(state, [own('Seccomp'), own('NoNewPrivs')], thread)
        }
      }
      assertEquals(filtered.sort(), ['mayfly-vm-0', 'mayfly-vm-1'])
      return Promise.resolve()
    }),
)

/** `(func (export "load") (param i32) (result i32) local.get 0 i32.load)` over one page of memory. */
const LOADER = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f],
  ...[3, 2, 1, 0],
  ...[5, 3, 1, 0, 1],
  ...[7, 8, 1, 4, 0x6c, 0x6f, 0x61, 0x64, 0, 0],
  ...[0x0a, 9, 1, 7, 0, 0x20, 0, 0x28, 2, 0, 0x0b],
])

testWith(NO_MACHINE, 'faults that the engine handles itself stay its own', () =>
  withMachines(async () => {
    const { instance } = await WebAssembly.instantiate(LOADER)
    const load = instance.exports.load
    assert(typeof load === 'function')
    for (let times = 0; times < 3; times++) {
      assertEquals(load(0), 0)
      assertThrows(() => load(1 << 20), WebAssembly.RuntimeError)
      assertThrows(function deep(): number {
        return deep() + 1
      }, RangeError)
    }
  }))

testWith(NO_MACHINE, 'signals and subprocesses of the process work as ever', () =>
  withMachines(async () => {
    for (let times = 0; times < 20; times++) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      // A listener does not keep the process waiting; a timer does.
      const late = setTimeout(() => reject(new Error('no signal in a minute')), 60_000)
      Deno.addSignalListener('SIGUSR1', resolve)
      Deno.kill(Deno.pid, 'SIGUSR1')
      await promise
      clearTimeout(late)
      Deno.removeSignalListener('SIGUSR1', resolve)
    }
    const { code } = await new Deno.Command(Deno.execPath(), { args: ['--version'], stdout: 'null' }).output()
    assertEquals(code, 0)
  }))
