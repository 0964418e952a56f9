/** Programs in virtual machines: the native library, its pool, and what a program is booted from. */
import { Bases, type HeldBase } from './base.ts'
import { bootWarm, type WarmProgram } from './boot.ts'
import { buildLibrary } from './ffi/build.ts'
import { IsolationUnavailableError } from './ffi/errors.ts'
import { checkKvmDevice } from './ffi/kvm_device.ts'
import { NativeLibrary } from './ffi/library.ts'
import { NativePool, type SubmitOptions } from './ffi/native_pool.ts'
import type { NativeProgram } from './ffi/native_program.ts'
import type { BootedProgram, Completion, Machines, MachinesOptions } from './machines.ts'
import type { Program } from './program.ts'

/**
 * Builds and loads the native library and starts the machines' threads. Rejects with `IsolationUnavailableError` where no virtual
 * machine can run and with `NativeBuildError` where the library cannot be built; both say what to do.
 */
export async function openVirtualMachines(options: MachinesOptions): Promise<Machines> {
  await checkKvmDevice()
  const { onBuild, signal } = options
  const library = NativeLibrary.open(await buildLibrary({ onBuild, signal }))
  try {
    const report = library.doctor()
    if (!report.available) throw new IsolationUnavailableError(`${report.reason}: ${report.mend}`)
    return new VirtualMachines(library, options)
  } catch (error) {
    library.close()
    throw error
  }
}

/**
 * Whether the environment asks for a check after every request: the machine is compared with its snapshot, byte for byte, and a
 * difference fails the request. Programs that keep their state always differ. The tests set it.
 */
function checksResets(): boolean {
  const variable = 'MAYFLY_CHECK_RESETS'
  const { state } = Deno.permissions.querySync({ name: 'env', variable })
  return state === 'granted' && Deno.env.get(variable) === '1'
}

class SnapshotProgram implements BootedProgram {
  readonly base: HeldBase
  readonly native: NativeProgram
  readonly description: Uint8Array<ArrayBuffer>
  readonly bootMs: number
  readonly settled: boolean

  constructor(base: HeldBase, { native, bootMs, settled }: WarmProgram) {
    this.base = base
    this.native = native
    this.description = native.answer(0)
    this.bootMs = bootMs
    this.settled = settled
  }
}

class VirtualMachines implements Machines {
  readonly boundary = 'vm'
  readonly #library: NativeLibrary
  readonly #pool: NativePool
  readonly #bases: Bases
  readonly #programs = new Set<SnapshotProgram>()
  readonly #check = checksResets()

  constructor(library: NativeLibrary, { vms, queue }: MachinesOptions) {
    this.#library = library
    this.#bases = new Bases(library)
    this.#pool = new NativePool(library, { workers: vms, queue })
  }

  async boot(plan: Program): Promise<BootedProgram> {
    const base = await this.#bases.hold(plan)
    try {
      const program = new SnapshotProgram(base, await bootWarm(this.#library, base.native, plan))
      this.#pool.prepare(program.native)
      this.#programs.add(program)
      return program
    } catch (error) {
      await base.release()
      throw error
    }
  }

  submit(
    program: BootedProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Promise<Completion> {
    return this.#pool.submit((program as SnapshotProgram).native, frame, {
      ...options,
      check: this.#check,
    })
  }

  async retire(program: BootedProgram): Promise<void> {
    const { native, base } = program as SnapshotProgram
    this.#programs.delete(program as SnapshotProgram)
    await this.#pool.retire(native)
    await base.release()
  }

  async close(): Promise<void> {
    await this.#pool.close()
    for (const { native, base } of this.#programs) {
      await native.close()
      await base.release()
    }
    this.#library.close()
  }
}
