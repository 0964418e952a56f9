/** Programs in virtual machines: the native library, its pool, and what a program is booted from. */
import type { Awaitable } from '../../context/types.ts'
import { COLD_MS } from './boot.ts'
import { buildLibrary } from '../ffi/build/build.ts'
import { IsolationUnavailableError } from '../machines/errors.ts'
import type { Completion, SubmitOptions } from '../machines/completion.ts'
import { checkFfiPermission } from '../ffi/ffi_permission.ts'
import { checkKvmDevice } from '../ffi/kvm_device.ts'
import { NativeLibrary } from '../ffi/library.ts'
import { NativePool } from '../ffi/native_pool.ts'
import type { BootedProgram, Machines, MachinesOptions } from '../machines/machines.ts'
import type { Program } from '../plan/program.ts'
import { type PoolKey, takePoolKey } from '../ffi/share_key.ts'
import { SnapshotCache } from './snapshot_cache.ts'
import { type SnapshotProgram, Snapshots } from './snapshots.ts'

/**
 * Builds and loads the native library and starts the machines' threads. Rejects with `IsolationUnavailableError` where no virtual
 * machine can run and with `NativeBuildError` where the library cannot be built; both say what to do.
 */
export async function openVirtualMachines(options: MachinesOptions): Promise<Machines> {
  await checkKvmDevice()
  checkFfiPermission()
  const { onBuild, signal } = options
  const library = NativeLibrary.open(await buildLibrary({ onBuild, signal }))
  try {
    const report = await library.doctor()
    if (!report.available) throw new IsolationUnavailableError(`${report.reason}: ${report.hint}`)
    return new VirtualMachines(library, options, report.host)
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
  return readVariable('MAYFLY_CHECK_RESETS') === '1'
}

/** A variable of the environment; undefined too where it may not be read. */
function readVariable(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: 'env', variable })
  return state === 'granted' ? Deno.env.get(variable) : undefined
}

/** MiB of bases in the folder of {@link openBases}. */
const BASES_MB = 4096

/**
 * The folder of bases that the environment names, null without one: what the tests of one run boot alike, they boot once. A server keeps
 * its own in `isolate.cacheDir`.
 */
function openBases(library: NativeLibrary, host: string): SnapshotCache | null {
  const dir = readVariable('MAYFLY_BASES')
  return dir === undefined ? null : SnapshotCache.open(library, { dir, mostMb: BASES_MB }, host)
}

class VirtualMachines implements Machines {
  readonly boundary = 'vm'
  readonly folder: string | null
  readonly #library: NativeLibrary
  readonly #pool: NativePool
  readonly #snapshots: Snapshots
  readonly #check = checksResets()
  readonly #key: PoolKey | null

  constructor(library: NativeLibrary, options: MachinesOptions, host: string) {
    this.#library = library
    const { vms: workers, queue, parked } = options
    this.#key = takePoolKey(workers, queue, parked)
    const key = this.#key?.text ?? ''
    try {
      this.#pool = new NativePool(library, { workers, queue, parked, key })
    } catch (error) {
      this.#key?.release()
      throw error
    }
    const { snapshots } = options
    const cache = snapshots === undefined ? null : SnapshotCache.open(library, snapshots, host)
    this.folder = cache?.folder ?? null
    const bases = cache ?? openBases(library, host)
    this.#snapshots = new Snapshots(library, this.#pool, options, key, cache, bases)
  }

  whileStarting(starts: () => Promise<void>): Promise<void> {
    return this.#snapshots.whileStarting(starts)
  }

  boot(plan: Program, kept?: boolean): Promise<BootedProgram> {
    return this.#snapshots.boot(plan, kept)
  }

  submit(
    program: BootedProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Awaitable<Completion> {
    const native = this.#snapshots.use(program as SnapshotProgram)
    if (native === null) return this.#submitLater(program as SnapshotProgram, frame, options)
    return this.#pool.submit(native, frame, this.#toOptions(program as SnapshotProgram, options))
  }

  #toOptions({ warm }: SnapshotProgram, options: SubmitOptions): SubmitOptions {
    const timeoutMs = warm === false ? options.timeoutMs + COLD_MS : options.timeoutMs
    return { ...options, timeoutMs, check: this.#check }
  }

  /** Loads the program first; if others pushed it out before the request was in, once more. */
  async #submitLater(
    program: SnapshotProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Promise<Completion> {
    for (;;) {
      const native = this.#snapshots.use(program) ?? await this.#snapshots.load(program)
      if (native.open) return await this.#pool.submit(native, frame, this.#toOptions(program, options))
    }
  }

  prepare(program: BootedProgram): Promise<void> {
    return this.#snapshots.prepare(program as SnapshotProgram)
  }

  retire(program: BootedProgram): Promise<void> {
    return this.#snapshots.retire(program as SnapshotProgram)
  }

  async close(): Promise<void> {
    try {
      await this.#snapshots.close()
    } finally {
      this.#key?.release()
    }
    this.#library.close()
  }
}
