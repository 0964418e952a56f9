/** Programs in virtual machines: the native library, its pool, and what a program is booted from. */
import { buildLibrary } from './ffi/build.ts'
import { BootError, IsolationUnavailableError } from './ffi/errors.ts'
import { NativeLibrary } from './ffi/library.ts'
import { NativePool, type SubmitOptions } from './ffi/native_pool.ts'
import { NativeProgram } from './ffi/native_program.ts'
import type { ProgramSpec } from './ffi/spec.ts'
import type { BootedProgram, Completion, Machines, MachinesOptions } from './machines.ts'
import { GUEST_PATH, type Program } from './program.ts'
import { encodeControl } from './request_frame.ts'

/** Memory of Deno itself beside that of a request. */
const BASE_BYTES = 64 << 20
const LOG_BYTES = 64 << 10
const BOOT_MS = 60_000

/**
 * Builds and loads the native library and starts the machines' threads. Rejects with `IsolationUnavailableError` where no virtual
 * machine can run and with `NativeBuildError` where the library cannot be built; both say what to do.
 */
export async function openVirtualMachines(options: MachinesOptions): Promise<Machines> {
  const library = NativeLibrary.open(await buildLibrary())
  try {
    const report = library.doctor()
    if (!report.available) throw new IsolationUnavailableError(`${report.reason}: ${report.mend}`)
    return new VirtualMachines(library, options)
  } catch (error) {
    library.close()
    throw error
  }
}

class SnapshotProgram implements BootedProgram {
  readonly native: NativeProgram
  readonly description: Uint8Array<ArrayBuffer>
  readonly bootMs: number

  constructor(native: NativeProgram) {
    const { bootUs, warmupUs } = native.report
    this.native = native
    this.description = native.answer(0)
    this.bootMs = (bootUs + warmupUs) / 1000
  }
}

class VirtualMachines implements Machines {
  readonly boundary = 'vm'
  readonly #library: NativeLibrary
  readonly #pool: NativePool
  readonly #programs = new Set<SnapshotProgram>()

  constructor(library: NativeLibrary, { vms, queue }: MachinesOptions) {
    this.#library = library
    // Guests stay off the thread that serves everybody: a machine that stalls or dies there would take the server with it.
    this.#pool = new NativePool(library, { workers: vms, queue, lingerUs: 0 })
  }

  async boot(plan: Program): Promise<BootedProgram> {
    const native = await bootWarm(this.#library, plan)
    this.#pool.prepare(native)
    const program = new SnapshotProgram(native)
    this.#programs.add(program)
    return program
  }

  submit(
    program: BootedProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Promise<Completion> {
    return this.#pool.submit((program as SnapshotProgram).native, frame, options)
  }

  async retire(program: BootedProgram): Promise<void> {
    this.#programs.delete(program as SnapshotProgram)
    await this.#pool.retire((program as SnapshotProgram).native)
  }

  async close(): Promise<void> {
    await this.#pool.close()
    for (const { native } of this.#programs) await native.close()
    this.#library.close()
  }
}

/** A handler that ends the program in its warm-up must not take the others with it: then all of them start cold. */
async function bootWarm(library: NativeLibrary, plan: Program): Promise<NativeProgram> {
  try {
    return await NativeProgram.boot(library, toSpec(plan, plan.warmup))
  } catch (error) {
    if (!(error instanceof BootError) || plan.warmup.length === 0) throw error
    const files = [...new Set(plan.handlers.map(({ route }) => route.file))].join(', ')
    console.error(
      `mayfly: the warm-up of ${files} failed, they start without it (warmup: 0 for the one at fault): ${error.message}`,
    )
    return await NativeProgram.boot(library, toSpec(plan, []))
  }
}

/** Stock Deno on the bundle, with its own libraries and nothing else of the host. */
function toSpec(plan: Program, warmup: Program['warmup']): ProgramSpec {
  const deno = Deno.execPath()
  return {
    path: '/bin/deno',
    args: ['deno', ...plan.args],
    env: plan.env,
    mounts: [{ guest: '/bin/deno', host: deno }],
    libraries: [deno],
    files: [{ guest: GUEST_PATH, bytes: plan.bundle.code }],
    draws: true,
    limits: {
      memoryBytes: BASE_BYTES + plan.options.memoryMb * (1 << 20),
      outputBytes: plan.options.outputBytes,
      logBytes: LOG_BYTES,
      bootMs: BOOT_MS,
    },
    warmup: [
      { frame: encodeControl({ control: 'describe' }), runs: 1, tell: true },
      ...warmup.map(({ frame, count }) => ({ frame, runs: count, group: 1 })),
      { frame: encodeControl({ control: 'renew' }), runs: 1, group: 2 },
    ],
  }
}
