/**
 * Programs in memory. Those that were not used for the longest time are dropped when all take more than their budget, and loaded again
 * into their bases when a request comes for one.
 *
 * ```text
 * load -> snapshot -- over the budget --> dropped -- a request --> load -> snapshot
 * ```
 */
import { delay } from '@std/async'
import { Bases, type HeldBase } from './base.ts'
import { bootWarm, type WarmProgram } from './boot.ts'
import { openCore } from './core_files.ts'
import { ClosedError, QueueFullError } from './ffi/errors.ts'
import type { NativeLibrary } from './ffi/library.ts'
import type { NativePool } from './ffi/native_pool.ts'
import type { NativeProgram } from './ffi/native_program.ts'
import type { BootedProgram, MachinesOptions } from './machines.ts'
import type { Program } from './program.ts'
import { findResidue } from './residue.ts'
import type { HandlerTrial } from './trial.ts'

/** How long a look for residue waits for boots, before it asks again. */
const LOOK_MS = 50
/** Memory of one machine of a program beside the snapshot: pages of its own, and what the host and KVM keep of it. */
const MACHINE_BYTES = 1 << 20

/** A program that has booted, whether its snapshot is in memory or not. */
export class SnapshotProgram implements BootedProgram {
  readonly plan: Program
  readonly base: HeldBase
  readonly description: Uint8Array<ArrayBuffer>
  readonly bootMs: number
  readonly loadMs: number
  readonly settled: boolean
  readonly trials: readonly HandlerTrial[]
  /** Null while it is dropped. */
  native: NativeProgram | null
  /** Grows with each use of any program. */
  used = 0
  retired = false
  loading: Promise<NativeProgram> | null = null

  constructor(plan: Program, base: HeldBase, { native, bootMs, settled, trials }: WarmProgram) {
    this.plan = plan
    this.base = base
    this.native = native
    this.description = native.answer(0)
    this.bootMs = bootMs
    this.loadMs = native.report.bootUs / 1000
    this.settled = settled
    this.trials = trials
  }
}

/** The programs of one pool, within a budget. */
export class Snapshots {
  readonly #library: NativeLibrary
  readonly #pool: NativePool
  readonly #options: MachinesOptions
  readonly #bases: Bases
  readonly #programs = new Set<SnapshotProgram>()
  /** Snapshots on their way out: their last requests run. */
  readonly #leaving = new Set<Promise<void>>()
  #uses = 0
  /** Requests that wait for a program to be loaded again. */
  #waiting = 0
  /** Boots under way. */
  #booting = 0
  /** Ends with the looks for residue; they wait until nothing boots. */
  #looking: Promise<void> = Promise.resolve()
  /** Ends with the loads before; one runs at a time, as requests of other programs need the cores. */
  #line: Promise<unknown> = Promise.resolve()

  constructor(library: NativeLibrary, pool: NativePool, options: MachinesOptions) {
    this.#library = library
    this.#pool = pool
    this.#options = options
    this.#bases = new Bases(library, () => openCore(options))
  }

  /** Boots a program, in its base. */
  async boot(plan: Program): Promise<SnapshotProgram> {
    const base = await this.#bases.hold(plan)
    this.#booting++
    try {
      const warm = await bootWarm(this.#library, base.native, plan)
      const program = new SnapshotProgram(plan, base, warm)
      this.#programs.add(program)
      this.#keep(program)
      this.#lookForResidue(program, warm)
      return program
    } catch (error) {
      await base.release()
      throw error
    } finally {
      this.#booting--
    }
  }

  /** Tells of what the warm-up left, once nothing boots. A program that keeps its state has it from its requests too. */
  #lookForResidue(program: SnapshotProgram, warm: WarmProgram): void {
    const { plan, base } = program
    const { onResidue } = this.#options
    if (onResidue === undefined || plan.warmup.length === 0 || !plan.options.ephemeral) return
    this.#looking = this.#looking.then(async () => {
      const isOver = () => program.retired || program.native !== warm.native
      while (this.#booting > 0 && !isOver()) await delay(LOOK_MS)
      if (isOver()) return
      const handlers = await findResidue(this.#library, this.#pool, base.native, plan, warm, isOver)
      if (!isOver()) onResidue(plan, handlers)
      // A program that was retired or a pool that was closed meanwhile: there is nobody to tell.
    }).catch(() => {})
  }

  /**
   * Notes a use, and gives the snapshot; null when it must be loaded first, by {@link load}. Throws `ClosedError` for a program that is
   * retired.
   */
  use(program: SnapshotProgram): NativeProgram | null {
    if (program.retired) throw new ClosedError('program')
    program.used = ++this.#uses
    return program.native
  }

  /** Loads a dropped program again. Rejects with `QueueFullError` when too many requests wait for that, and as the boot did. */
  async load(program: SnapshotProgram): Promise<NativeProgram> {
    if (this.#waiting >= this.#options.queue) throw new QueueFullError()
    this.#waiting++
    try {
      program.loading ??= this.#inLine(() => this.#load(program)).finally(() => program.loading = null)
      return await program.loading
    } finally {
      this.#waiting--
    }
  }

  /** Ends a program after its requests. */
  async retire(program: SnapshotProgram): Promise<void> {
    this.#programs.delete(program)
    program.retired = true
    const { native } = program
    program.native = null
    if (native !== null) await this.#pool.retire(native)
    await program.base.release()
  }

  /** Refuses further requests, closes the pool after those under way, and ends all programs. */
  async close(): Promise<void> {
    for (const program of this.#programs) program.retired = true
    await this.#line
    await this.#looking
    await this.#pool.close()
    await Promise.all(this.#leaving)
    for (const { native, base } of this.#programs) {
      await native?.close()
      await base.release()
    }
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#line.then(work)
    this.#line = result.catch(() => {})
    return result
  }

  async #load(program: SnapshotProgram): Promise<NativeProgram> {
    if (program.retired) throw new ClosedError('program')
    const { plan, base } = program
    const { native, bootMs, settled } = await bootWarm(this.#library, base.native, plan)
    // It may have been retired meanwhile.
    if (program.retired as boolean) {
      await native.close()
      throw new ClosedError('program')
    }
    program.native = native
    this.#keep(program)
    this.#options.onReload?.(plan, { bootMs, settled, loadMs: native.report.bootUs / 1000 })
    return native
  }

  /** Readies a snapshot, and drops others until all fit. */
  #keep(program: SnapshotProgram): void {
    program.used = ++this.#uses
    this.#pool.prepare(program.native!)
    const { memoryBudgetMb } = this.#options
    if (memoryBudgetMb === undefined) return
    const held = [...this.#programs].filter(({ native }) => native !== null)
    let bytes = this.#bases.bytes + held.reduce((sum, each) => sum + this.#bytesOf(each), 0)
    for (const each of held.toSorted((a, b) => a.used - b.used)) {
      if (bytes <= memoryBudgetMb * (1 << 20)) break
      if (each === program) continue
      bytes -= this.#bytesOf(each)
      this.#drop(each)
    }
  }

  #bytesOf({ native }: SnapshotProgram): number {
    return native!.report.ownBytes + this.#options.vms * MACHINE_BYTES
  }

  #drop(program: SnapshotProgram): void {
    const native = program.native!
    program.native = null
    // Its requests go on; a failure to free it shows when the pool is closed.
    const left = this.#pool.retire(native).catch(() => {}).finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
    this.#options.onDrop?.(program.plan)
  }
}
