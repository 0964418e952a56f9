/**
 * Programs in memory. Those that were not used for the longest time are dropped when all take more than their budget, and loaded again
 * into their bases when a request comes for one.
 *
 * ```text
 *              +--- a request ---- dropped <---+
 *              v                               | over the budget
 * load -> cold snapshot, serves -> warm snapshot, serves
 *                              ^
 *                              +-- a second load, with the warm-up, in the background
 *
 * file on disk -> warm snapshot, serves -> file on disk
 * ```
 * Modules draw the same random values in the cold and in the warm one, as both draw from one seed.
 */
import { hexDigest } from '../../context/hex_digest.ts'
import { Bases, type HeldBase } from './base.ts'
import { Background } from './background.ts'
import { bootCold, bootWarm } from './boot.ts'
import { openCore } from './core_files.ts'
import { lookForIdle } from '../ffi/idle_machines.ts'
import { ClosedError, QueueFullError } from '../machines/errors.ts'
import type { NativeLibrary } from '../ffi/library.ts'
import type { NativePool } from '../ffi/native_pool.ts'
import type { NativeProgram } from '../ffi/native_program.ts'
import { digestKey } from '../ffi/share_key.ts'
import { explainLoad } from './load_failure.ts'
import type { BootedProgram, MachinesOptions, Readiness } from '../machines/machines.ts'
import type { Program } from '../plan/program.ts'
import type { SnapshotCache } from './snapshot_cache.ts'
import { decodeNotes, encodeNotes, failsToLoad, type SnapshotNotes, snapshotParts } from './snapshot_notes.ts'
import { createSeed } from '../wire/request_frame.ts'
import { findResidue } from './residue.ts'
import type { HandlerTrial } from '../machines/trial.ts'

/** Memory of one machine of a program beside the snapshot: pages of its own, and what the host and KVM keep of it. */
const MACHINE_BYTES = 1 << 20

/** Longest wait for forks ahead of the first request: a worker may be busy. Milliseconds. */
const PREPARE_MS = 500
const PREPARE_STEP_MS = 2

/** A snapshot, and how it came to be. */
interface Taken {
  readonly native: NativeProgram
  readonly how: Readiness
  /** What its modules drew from. */
  readonly seed: string
  /** What a file told of it; null for one that was booted. */
  readonly notes?: SnapshotNotes | null
  /** Whether all of its warm-up ran. */
  readonly whole?: boolean
}

/** A program that has booted, whether its snapshot is in memory or not. */
export class SnapshotProgram implements BootedProgram {
  readonly plan: Program
  readonly base: HeldBase
  /** Its snapshot may lie on disk. */
  readonly kept: boolean
  readonly description: Uint8Array<ArrayBuffer>
  /** Null while it is dropped. */
  native: NativeProgram | null
  how: Readiness
  /** Grows with each use of any program. */
  used = 0
  /** A request has come for it. */
  asked = false
  retired = false
  /** Ends its warm-up once it is retired. */
  readonly retirement = new AbortController()
  loading: Promise<NativeProgram> | null = null

  constructor(plan: Program, base: HeldBase, kept: boolean, { native, how }: Taken) {
    this.plan = plan
    this.base = base
    this.kept = kept
    this.native = native
    this.description = native.answer(0)
    this.how = how
  }

  get inMemory(): boolean {
    return this.native !== null
  }

  get bootMs(): number {
    return this.how.bootMs
  }

  get loadMs(): number {
    return this.how.loadMs!
  }

  get settled(): boolean | undefined {
    return this.how.settled
  }

  get warm(): boolean | undefined {
    return this.how.warm
  }

  get cached(): boolean | undefined {
    return this.how.cached
  }

  get trials(): readonly HandlerTrial[] | undefined {
    return this.how.trials
  }
}

/** The programs of one pool, within a budget. */
export class Snapshots {
  readonly #library: NativeLibrary
  readonly #pool: NativePool
  readonly #options: MachinesOptions
  readonly #key: string
  readonly #bases: Bases
  readonly #cache: SnapshotCache | null
  readonly #programs = new Set<SnapshotProgram>()
  /** Snapshots on their way out: their last requests run. */
  readonly #leaving = new Set<Promise<void>>()
  /** Ends warm-ups once the pool closes. */
  readonly #closing = new AbortController()
  #uses = 0
  /** Requests that wait for a program to be loaded again. */
  #waiting = 0
  /** Warm-ups of programs that serve, and looks for what warm-ups left. */
  readonly #background = new Background<SnapshotProgram>((a, b) => b.used - a.used)
  #endLooks: () => void = () => {}
  /** Ends with the loads before; one runs at a time, as requests of other programs need the cores. */
  #line: Promise<unknown> = Promise.resolve()

  /** `key`: that of the pool; `cache` keeps snapshots on disk, `bases` those of bases. */
  constructor(
    library: NativeLibrary,
    pool: NativePool,
    options: MachinesOptions,
    key: string,
    cache: SnapshotCache | null = null,
    bases: SnapshotCache | null = cache,
  ) {
    this.#key = key
    this.#cache = cache
    this.#library = library
    this.#pool = pool
    this.#options = options
    this.#bases = new Bases(library, () => openCore(options), key, bases, options.onRefused)
    // Its part of the budget is smaller once another isolate shares the pool.
    if (options.memoryBudgetMb !== undefined) this.#endLooks = lookForIdle(() => this.#fit(null))
  }

  /** As `Machines.whileStarting`. */
  whileStarting(starts: () => Promise<void>): Promise<void> {
    return this.#background.hold(starts)
  }

  /** Boots a program, in its base, or goes on with it from its file if it is `kept`. */
  async boot(plan: Program, kept = false): Promise<SnapshotProgram> {
    const base = await this.#bases.hold(plan)
    try {
      const taken = await this.#background.hold(() => this.#take(base, plan, kept))
        .catch(async (error) => {
          throw await explainLoad(this.#library, base.native, plan, error)
        })
      const program = new SnapshotProgram(plan, base, kept, taken)
      this.#programs.add(program)
      this.#serve(program, taken)
      return program
    } catch (error) {
      await base.release()
      throw error
    }
  }

  /** Loads a program, up to where it can serve. */
  async #take(base: HeldBase, plan: Program, kept: boolean): Promise<Taken> {
    const cached = kept ? await this.#open(base, plan) : null
    if (cached !== null) return cached
    const taken = await this.#boot(base, plan)
    return kept && this.#cache !== null ? { ...taken, how: { ...taken.how, cached: false } } : taken
  }

  async #boot(base: HeldBase, plan: Program): Promise<Taken> {
    const seed = await this.#seedOf(plan)
    if (!this.#warmsLater(plan)) return await this.#takeWarm(base, plan, seed)
    const begin = performance.now()
    const native = await bootCold(this.#library, base.native, plan, seed, this.#key)
    const loadMs = native.report.bootUs / 1000
    return { native, seed, how: { warm: false, bootMs: performance.now() - begin, loadMs } }
  }

  async #takeWarm(
    base: HeldBase,
    plan: Program,
    seed: string,
    signal: AbortSignal = this.#closing.signal,
  ): Promise<Taken> {
    const { native, whole, ...how } = await bootWarm(
      this.#library,
      base.native,
      plan,
      seed,
      signal,
      this.#key,
    )
    const { bootMs, settled, trials } = how
    const loadMs = native.report.bootUs / 1000
    return { native, seed, whole, how: { warm: true, bootMs, loadMs, settled, trials } }
  }

  /** Goes on with a program from its file; null where there is none that is of use. */
  async #open(base: HeldBase, plan: Program): Promise<Taken | null> {
    if (this.#cache === null) return null
    const begin = performance.now()
    const name = await this.#cache.name(await snapshotParts(plan, base))
    const shared = this.#key === '' || !plan.options.ephemeral
      ? ''
      : await digestKey(this.#key, [`file over ${base.native.handle}`, name])
    const refuse = (reason: string) => this.#options.onRefused?.(plan, reason)
    const native = await this.#cache.open(name, base.native, shared, refuse)
    if (native === null) return null
    const notes = decodeNotes(native.notes())
    if (notes === null) {
      refuse('its notes cannot be read')
      await native.close()
      return null
    }
    const { seed, trials } = notes
    const bootMs = performance.now() - begin
    const loadMs = native.report.bootUs / 1000
    return { native, seed, notes, how: { warm: true, cached: true, bootMs, loadMs, settled: true, trials } }
  }

  /** Writes a program to its file, if it is one that a restart is to go on with. `residue`: what its warm-up left, if that is known. */
  async #save(
    { plan, base, kept }: SnapshotProgram,
    { native, how, seed, whole, notes }: Taken,
    residue: readonly string[] | null,
  ): Promise<void> {
    if (this.#cache === null || !kept || notes || whole !== true || how.settled !== true) return
    if (failsToLoad(native)) return
    const { trials = [] } = how
    const name = await this.#cache.name(await snapshotParts(plan, base))
    await base.saved
    await this.#cache.save(name, native, base.native, encodeNotes({ seed, trials, residue }))
  }

  /** What its modules draw from: for all isolates that share the program the same, as each may load the cold one or the warm one. */
  async #seedOf({ hash, options }: Program): Promise<string> {
    if (this.#key === '' || !options.ephemeral) return createSeed()
    return await hexDigest(this.#pool.secret(), hash)
  }

  /** Whether a program serves before its warm-up. One that keeps its state would lose it to the warm snapshot. */
  #warmsLater({ options, warmup }: Program): boolean {
    return this.#options.warmLater === true && options.runtime === 'deno' && options.ephemeral &&
      warmup.length > 0
  }

  /** Makes a snapshot the one that serves, and does in the background what is left to do. */
  #serve(program: SnapshotProgram, taken: Taken): void {
    const { native, how, seed, notes } = taken
    program.native = native
    program.how = how
    this.#keep(program)
    const isOver = () => program.retired || program.native !== native
    this.#background.add(program, async () => {
      if (isOver()) return
      if (notes) {
        return notes.residue === null ? undefined : this.#options.onResidue?.(program.plan, notes.residue)
      }
      if (how.warm === false) return await this.#warm(program, native, seed)
      const residue = await this.#lookForResidue(program, null, native, seed, isOver)
      if (!isOver()) await this.#save(program, taken, residue)
    })
  }

  /** Puts a warm snapshot in the place of a cold one, which ends after its requests. */
  async #warm(program: SnapshotProgram, cold: NativeProgram, seed: string): Promise<void> {
    const { plan, base } = program
    let taken: Taken
    try {
      const signal = AbortSignal.any([this.#closing.signal, program.retirement.signal])
      taken = await this.#takeWarm(base, plan, seed, signal)
    } catch (error) {
      if (program.retired) return
      const files = [...new Set(plan.handlers.map(({ route }) => route.file))].join(' and ')
      console.error(
        `mayfly: ${files} cannot be warmed up, its requests stay slow: ${(error as Error).message}`,
      )
      return
    }
    const { native } = taken
    if (program.retired || program.native !== cold) return await native.close()
    const how = program.how.cached === undefined ? taken.how : { ...taken.how, cached: false }
    program.native = native
    program.how = how
    this.#keep(program)
    this.#options.onReady?.(plan, how)
    const isOver = () => program.retired || program.native !== native
    try {
      const residue = await this.#lookForResidue(program, cold, native, seed, isOver)
      if (!isOver()) await this.#save(program, taken, residue)
    } finally {
      this.#let(cold)
    }
  }

  /**
   * Reports and gives what the warm-up left, null where that is not known: `cold` is the same program without one, or is loaded. A program
   * that keeps its state has it from its requests too.
   */
  async #lookForResidue(
    { plan, base }: SnapshotProgram,
    cold: NativeProgram | null,
    warm: NativeProgram,
    seed: string,
    isOver: () => boolean,
  ): Promise<readonly string[] | null> {
    const { onResidue } = this.#options
    if (onResidue === undefined || plan.warmup.length === 0 || !plan.options.ephemeral) return null
    // The program was retired, or the pool was closed, meanwhile: nothing is left to report to.
    const given = cold ?? await bootCold(this.#library, base.native, plan, seed, this.#key).catch(() => null)
    if (given === null) return null
    try {
      const handlers = await findResidue(this.#pool, plan, given, warm, isOver).catch(() => null)
      if (handlers !== null && !isOver()) onResidue(plan, handlers)
      return handlers
    } finally {
      if (cold === null) this.#let(given)
    }
  }

  /**
   * Notes a use, and gives the snapshot; null when it must be loaded first, by {@link load}. Throws `ClosedError` for a program that is
   * retired.
   */
  use(program: SnapshotProgram): NativeProgram | null {
    if (program.retired) throw new ClosedError('program')
    program.used = ++this.#uses
    program.asked = true
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

  /** Forks a program in every worker ahead of its first request. Resolves when they have, or take too long. */
  async prepare(program: SnapshotProgram): Promise<void> {
    const { native } = program
    if (native === null || !native.open || program.retired) return
    program.asked = true
    this.#pool.prepare(native)
    for (let ms = 0; ms < PREPARE_MS && native.open && !program.retired; ms += PREPARE_STEP_MS) {
      if (this.#pool.prepared(native) >= this.#options.vms) return
      await new Promise((resolve) => setTimeout(resolve, PREPARE_STEP_MS))
    }
  }

  /** Ends a program after its requests. */
  async retire(program: SnapshotProgram): Promise<void> {
    this.#programs.delete(program)
    program.retired = true
    program.retirement.abort()
    const { native } = program
    program.native = null
    if (native !== null) await this.#pool.retire(native)
    await program.base.release()
  }

  /** Refuses further requests, closes the pool after those under way, and ends all programs. */
  async close(): Promise<void> {
    this.#endLooks()
    for (const program of this.#programs) program.retired = true
    this.#closing.abort()
    await this.#line
    await this.#background.close()
    await this.#pool.close()
    await Promise.all(this.#leaving)
    for (const { native, base } of this.#programs) {
      await native?.close()
      await base.release()
    }
    await this.#cache?.close()
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#line.then(work)
    this.#line = result.catch(() => {})
    return result
  }

  async #load(program: SnapshotProgram): Promise<NativeProgram> {
    if (program.retired) throw new ClosedError('program')
    const { plan, base, kept } = program
    const taken = await this.#background.hold(() => this.#take(base, plan, kept))
    const { native } = taken
    // It may have been retired meanwhile.
    if (program.retired as boolean) {
      await native.close()
      throw new ClosedError('program')
    }
    this.#serve(program, taken)
    this.#options.onReady?.(plan, taken.how)
    return native
  }

  /** Readies a snapshot, and drops others until all fit. */
  #keep(program: SnapshotProgram): void {
    if (program.asked) this.#pool.prepare(program.native!)
    this.#fit(program)
  }

  /** Drops programs until all fit, `kept` excepted. */
  #fit(kept: SnapshotProgram | null): void {
    const { memoryBudgetMb } = this.#options
    if (memoryBudgetMb === undefined) return
    const held = [...this.#programs].filter(({ native }) => native !== null)
    // One budget for all isolates that share the pool: each has its part of it, and counts its part of what others hold too.
    const isolates = this.#pool.members
    const budget = memoryBudgetMb * (1 << 20) / isolates
    let bytes = this.#bases.bytes / isolates + held.reduce((sum, each) => sum + this.#bytesOf(each), 0)
    for (const each of held.toSorted((a, b) => a.used - b.used)) {
      if (bytes <= budget) break
      if (each === kept) continue
      bytes -= this.#bytesOf(each)
      this.#drop(each)
    }
  }

  #bytesOf({ native }: SnapshotProgram): number {
    return (native!.report.ownBytes + this.#options.vms * MACHINE_BYTES) / native!.holders
  }

  #drop(program: SnapshotProgram): void {
    const native = program.native!
    program.native = null
    this.#let(native)
    this.#options.onDrop?.(program.plan)
  }

  /** Ends a snapshot after its requests. */
  #let(native: NativeProgram): void {
    // A failure to free it shows when the pool is closed.
    const left = this.#pool.retire(native).catch(() => {}).finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
  }
}
