/**
 * Bases: runtimes that have started and wait for a program to load. A program continues from one, so that it costs what it
 * differs in; programs whose runtimes start alike share one, and with it most of their memory.
 *
 * ```text
 * boot of the runtime -> base -+-> load, warm-up -> program
 *                              +-> load, warm-up -> program   (each sees the base, and nothing of the others)
 * ```
 */
import { BOOTSTRAP_PATH, BOOTSTRAPS } from '../bundle/bootstrap.ts'
import { RUNTIME_FILE } from '../bundle/bundle.ts'
import { PACKAGES_PATH } from '../bundle/package_files.ts'
import type { CoreFiles } from './core_files.ts'
import type { SnapshotCache } from './snapshot_cache.ts'
import { LAYOUT_PATH } from './core_layout.ts'
import { SURFACE_PATH } from '../core/core_surface.ts'
import type { NativeLibrary } from '../ffi/library.ts'
import { NativeProgram } from '../ffi/native_program.ts'
import { digestKey } from '../ffi/share_key.ts'
import type { LoadSpec, ProgramSpec } from '../ffi/spec.ts'
import { DEFAULT_LIMITS } from '../plan/options.ts'
import { GUEST_PATH, type Program } from '../plan/program.ts'
import { encodeControl } from '../wire/request_frame.ts'

/** A base, held by a program for as long as it may be loaded again. */
export interface HeldBase {
  readonly native: NativeProgram
  /** Of its file; '' where none is kept. */
  readonly name: string
  /** Resolves when its file is written, if one is. */
  readonly saved: Promise<void>
  /** Lets go of it; the last one frees it. A second time does nothing. */
  release(): Promise<void>
}

const BOOT_MS = 60_000
/** The same for a program of somebody's, which may never come to wait. */
const NATIVE_BOOT_MS = 10_000
/** CPU time for all code at the top of a program's modules. */
export const LOAD_CPU_MS = 5000
/** Memory for a load and a warm-up beside that of a request: the garbage of a thousand requests lies there at once. */
const LOADING_BYTES = 512 << 20
/** Memory of each runtime itself beside that of a request; a native program may take as much to start as others do to load. */
const RUNTIME_BYTES = { deno: 64 << 20, core: 48 << 20, native: 0 }
/** Where a native program lies in its guest. */
const NATIVE_PATH = '/program'

/** A runtime before it has a program. `core` is there when that is the program's. */
export function toBaseSpec(plan: Program, core?: CoreFiles): ProgramSpec {
  const { env, options } = plan
  return {
    ...toImage(plan, core),
    env,
    reseed: needsReseed(options),
    clockUs: options.coarseClockUs,
    limits: {
      memoryBytes: memoryBytes(options) + (options.runtime === 'native' ? LOADING_BYTES : 0),
      outputBytes: 0, // no answer has a body
      logBytes: DEFAULT_LIMITS.logBytes,
      bootMs: options.runtime === 'native' ? NATIVE_BOOT_MS : BOOT_MS,
      cpuMs: 0,
      calls: DEFAULT_LIMITS.systemCalls,
      descriptors: DEFAULT_LIMITS.files,
      threads: DEFAULT_LIMITS.threads,
      mappings: DEFAULT_LIMITS.mappings,
    },
  }
}

type Image = Pick<ProgramSpec, 'path' | 'args' | 'mounts' | 'libraries' | 'files'>

function toImage(plan: Program, core: CoreFiles | undefined): Image {
  const kind = plan.options.runtime
  if (kind === 'native') return toNative(plan)
  const files = [
    { guest: BOOTSTRAP_PATH, bytes: new TextEncoder().encode(BOOTSTRAPS[kind]) },
    { guest: `/${RUNTIME_FILE}`, bytes: plan.runtime.code },
  ]
  if (core === undefined) return { ...toDeno(plan), files }
  const own = [{ guest: SURFACE_PATH, bytes: core.surface }, { guest: LAYOUT_PATH, bytes: core.layout }]
  return { ...toCore(plan, core), files: [...files, ...own] }
}

/** A program that waits for requests by itself, as its bytes were when it was planned, with the libraries that it names. */
function toNative({ bundle, executable }: Program): Image {
  const files = [{ guest: NATIVE_PATH, bytes: bundle.code }]
  return { path: NATIVE_PATH, args: ['program'], mounts: [], libraries: [executable!], files }
}

/** How a machine describes itself to loggers, without anything of the host: its name is `mayfly`. */
const MACHINE_FACTS = '--allow-sys=hostname,osRelease,osUptime,loadavg,systemMemoryInfo,cpus,homedir,uid,gid'

/** Stock Deno, with its own libraries and nothing else of the host. It may read the file that it will load, and those of its packages. */
function toDeno({ args }: Program): Image {
  const deno = Deno.execPath()
  return {
    path: '/bin/deno',
    args: [
      'deno',
      ...args.slice(0, -1),
      `--allow-read=${GUEST_PATH},${PACKAGES_PATH}`,
      MACHINE_FACTS,
      BOOTSTRAP_PATH,
    ],
    mounts: [{ guest: '/bin/deno', host: deno }],
    libraries: [deno],
  }
}

/** The core runtime, which needs no library. */
function toCore({ args }: Program, { binary }: CoreFiles): Image {
  const path = '/bin/guest-core'
  return {
    path,
    args: ['guest-core', ...args.slice(0, -1), BOOTSTRAP_PATH, LAYOUT_PATH],
    mounts: [{ guest: path, host: binary }],
  }
}

/** Whether the runtime has a generator of its own, from which all programs of a base would draw the same numbers; core asks the kernel. */
function needsReseed({ runtime }: Program['options']): boolean {
  return runtime === 'deno'
}

/** A program for its base, without a warm-up; its modules draw from `seed`. */
export function toLoadSpec({ bundle, options }: Program, base: NativeProgram, seed: string): LoadSpec {
  const { cpuMs, outputBytes, limits } = options
  return {
    base: base.handle,
    frame: encodeControl({
      control: 'load',
      name: GUEST_PATH,
      memoryBytes: options.memoryMb * (1 << 20),
      seed,
    }),
    mounts: bundle.data?.map(({ guest, host }) => ({ guest, host })) ?? [],
    files: options.runtime === 'native' ? [] : [{ guest: GUEST_PATH, bytes: bundle.code }],
    loading: {
      memoryBytes: memoryBytes(options) + LOADING_BYTES,
      requestBytes: options.memoryMb * (1 << 20),
      cpuMs: LOAD_CPU_MS,
    },
    reseed: needsReseed(options),
    limits: {
      memoryBytes: memoryBytes(options),
      outputBytes,
      logBytes: limits.logBytes,
      bootMs: BOOT_MS,
      cpuMs,
      calls: limits.systemCalls,
      descriptors: limits.files,
      threads: limits.threads,
      mappings: limits.mappings,
    },
  }
}

/** The core runtime's own limit lies below this: it lets go of memory late, and its limit has an eighth of play. */
function memoryBytes({ memoryMb, runtime }: Program['options']): number {
  const play = runtime === 'core' ? memoryMb / 8 : 0
  return RUNTIME_BYTES[runtime] + Math.ceil(memoryMb + play) * (1 << 20)
}

/**
 * All that a base was started with: what it read of it cannot be changed afterwards, so only programs that agree in all of it share one.
 * Values of variables are part of it; a program without them never meets a base that has them.
 */
export function baseKey(
  { path, args, env, mounts, clockUs, limits }: ProgramSpec,
  { executable, hash }: Pick<Program, 'executable' | 'hash'>,
): string {
  // The base of a native program is that program.
  const own = executable === undefined ? null : hash
  return JSON.stringify([path, args, Object.entries(env ?? {}).sort(), mounts, clockUs, limits, own])
}

/** A base, and the file of it. */
type Started = Omit<HeldBase, 'release'>

interface Entry {
  readonly started: Promise<Started>
  holders: number
  /** Host memory, known once it has booted. */
  bytes: number
}

/** The bases of one library, each booted when the first program needs it and freed after the last one. */
export class Bases {
  readonly #library: NativeLibrary
  readonly #openCore: () => Promise<CoreFiles>
  readonly #pool: string
  readonly #cache: SnapshotCache | null
  readonly #onRefused: (program: Program, reason: string) => void
  #core: Promise<CoreFiles> | null = null
  readonly #entries = new Map<string, Entry>()

  /**
   * `core` gives the core runtime when the first program needs it. Isolates share the bases of equal `pool`; of '' they are this one's.
   * `cache` keeps them on disk; `onRefused` hears of a file that is of no use.
   */
  constructor(
    library: NativeLibrary,
    core: () => Promise<CoreFiles>,
    pool = '',
    cache: SnapshotCache | null = null,
    onRefused: (program: Program, reason: string) => void = () => {},
  ) {
    this.#pool = pool
    this.#cache = cache
    this.#onRefused = onRefused
    this.#library = library
    this.#openCore = core
  }

  /** The base of a program. Rejects as {@link NativeProgram.boot} does; a boot that failed is tried again by the next caller. */
  async hold(plan: Program): Promise<HeldBase> {
    const spec = toBaseSpec(plan, plan.options.runtime === 'core' ? await this.#coreFiles() : undefined)
    const key = baseKey(spec, plan)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { started: this.#start(spec, key, plan), holders: 0, bytes: 0 }
      this.#entries.set(key, entry)
    }
    entry.holders++
    try {
      const started = await entry.started
      entry.bytes = started.native.report.ownBytes
      let held = true
      return {
        ...started,
        release: async () => {
          if (!held) return
          held = false
          await this.#letGo(key, entry)
        },
      }
    } catch (error) {
      entry.holders--
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
      throw error
    }
  }

  async #start(spec: ProgramSpec, key: string, plan: Program): Promise<Started> {
    const files = (spec.files ?? []).flatMap(({ guest, bytes }) => [guest, bytes])
    const shared = this.#pool === '' ? '' : await digestKey(this.#pool, ['base', key, ...files])
    const boot = () => NativeProgram.boot(this.#library, spec, undefined, shared)
    if (this.#cache === null) return { native: await boot(), name: '', saved: Promise.resolve() }
    const name = await this.#cache.name(['base', key, ...files])
    const refuse = (reason: string) => this.#onRefused(plan, reason)
    const kept = await this.#cache.open(name, null, shared, refuse)
    if (kept !== null) return { native: kept, name, saved: Promise.resolve() }
    const native = await boot()
    return { native, name, saved: this.#cache.save(name, native) }
  }

  /** Bytes of host memory that the bases take. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #coreFiles(): Promise<CoreFiles> {
    return this.#core ??= this.#openCore().catch((error) => {
      this.#core = null
      throw error
    })
  }

  async #letGo(key: string, entry: Entry): Promise<void> {
    if (--entry.holders > 0) return
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    await (await entry.started).native.close()
  }
}
