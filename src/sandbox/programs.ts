/**
 * Programs that stay: each is run as code that nobody has seen, until it is used often enough for a snapshot of its own.
 *
 * ```text
 * get(name, loader) -> its first call asks the loader -> runner, with the code in each call
 *                                   promoteAfter uses -> snapshot of its own, made in the background -> calls without code
 *                              over `promoted` of them <- dropped: runner again
 * get(name, loader, { version }) -> loaded once in a runner -> takes the place of the former, or is refused
 * ```
 */
import { toPrintable } from '../errors/printable.ts'
import { decodeDescription } from '../isolate/wire/response_frame.ts'
import type { Warmup } from '../isolate/warm/warmup.ts'
import { HEADER_MAX } from '../isolate/wire/wire.ts'
import type { CheckedCode, SandboxCode } from './code.ts'
import { begin, mayPromote, succeed, type Succession } from './back_off.ts'
import { loadCode } from './packages.ts'
import { CrashError, SandboxError } from './errors.ts'
import type { SandboxEvents } from './events.ts'
import { type ResolvedLimits, resolveLimits } from './limits.ts'
import type { Running, SandboxMachines } from './machines.ts'
import {
  type Call,
  CALL_HANDLER,
  FETCH_HANDLER,
  PLAIN_FETCH_HANDLER,
  PROPS_FETCH_HANDLER,
} from './message.ts'
import type { ResolvedSandboxOptions } from './options.ts'
import { planLoaded, planNative, toCallFrame, toFetchFrame, toPlainFetchFrame } from './runner.ts'
import { type CallShape, Shapes } from './shapes.ts'

/** Gives a program when it is needed: at the first call, and again after it was forgotten. */
export type SandboxLoader<Env extends object = Readonly<Record<string, unknown>>> = () =>
  | SandboxCode<Env>
  | Promise<SandboxCode<Env>>

/** One version of a program. */
export interface Version {
  readonly name: string | undefined
  readonly version: string | undefined
  /** Calls of one number are served in turn with those of others. */
  readonly flow: number
  readonly loader: SandboxLoader
  loaded: Promise<LoadedCode> | null
  /** Bytes of its code that count. */
  bytes: number
  uses: number
  /** When it took its place among others of its name. */
  succession: Succession
  state: 'once' | 'promoting' | 'warm' | 'cold' | 'gone'
  running: Running | null
  /** The boot of a native program, under way. */
  starting: Promise<void> | null
  /** Why a native program did not start, and until when it is not tried again. */
  refusal: { readonly error: Error; readonly until: number } | null
}

/** A program that was looked at, with its limits. */
export interface LoadedCode {
  readonly code: CheckedCode
  readonly limits: ResolvedLimits
  readonly shapes: Shapes
}

/** A name, and what it stands for. */
interface Slot {
  current: Version
  /** On trial. */
  next: Version | null
  /** Ends with the last trial, as that did. */
  settled: Promise<void>
}

/** Flows that the pool tells apart. */
const FLOWS = 2 ** 24 - 1
/** Runs of all shapes before a snapshot, at most: the warm-up ends sooner where they become no faster. After 600 a `fetch` took twice as long. */
const WARMUP_RUNS = 4000

/** The next attempt to start a native program waits this many times as long as the failed one took: no limit counts the time of starts. */
const START_PAUSES = 10

/** Loads a program into a runner and gives the names of its exports. */
export type TryOut = (version: Version) => Promise<unknown>

/** The programs of a sandbox. */
export class Programs {
  readonly #options: ResolvedSandboxOptions
  readonly #machines: SandboxMachines
  readonly #events: SandboxEvents
  readonly #tryOut: TryOut
  /** By name; the one that was used last comes last. */
  readonly #slots = new Map<string, Slot>()
  /** Those that have a snapshot; the one that was used last comes last. */
  readonly #warm = new Set<Version>()
  /** Of programs without names; isolates that share the machines begin at different ones. */
  #flow = Math.floor(Math.random() * FLOWS)
  /** Snapshots are made one after the other: the cores are the calls'. */
  #making: Promise<unknown> = Promise.resolve()
  /** Bytes of the code of all names. */
  #bytes = 0
  #closed = false

  constructor(
    options: ResolvedSandboxOptions,
    machines: SandboxMachines,
    events: SandboxEvents,
    tryOut: TryOut,
  ) {
    this.#options = options
    this.#machines = machines
    this.#events = events
    this.#tryOut = tryOut
  }

  /** Programs by name. */
  list(): readonly Version[] {
    return [...this.#slots.values()].map(({ current }) => current)
  }

  /** A program without a name. */
  make(name: string | undefined, loader: SandboxLoader, version: string | undefined): Version {
    if (name === undefined) this.#flow = this.#flow % FLOWS + 1
    return {
      name,
      version,
      flow: name === undefined ? this.#flow : flowOf(name),
      loader,
      loaded: null,
      bytes: 0,
      uses: 0,
      succession: begin(performance.now()),
      state: 'once',
      running: null,
      starting: null,
      refusal: null,
    }
  }

  /** What a name stands for now. A version that is neither that nor on trial is put on trial. */
  find(name: string, loader: SandboxLoader, version: string | undefined): Slot {
    const known = this.#slots.get(name)
    if (known !== undefined) {
      this.#slots.delete(name)
      this.#slots.set(name, known)
      const isNew = version !== undefined && version !== known.current.version &&
        version !== known.next?.version
      // The same flow: who swaps often is still one among others.
      if (isNew) this.#swap(known, { ...this.make(name, loader, version), flow: known.current.flow })
      return known
    }
    const slot: Slot = { current: this.make(name, loader, version), next: null, settled: Promise.resolve() }
    this.#slots.set(name, slot)
    if (this.#slots.size > this.#options.programs) this.#forget()
    return slot
  }

  /** The name's program as it is; undefined for one that was forgotten. */
  current(name: string): Version | undefined {
    return this.#slots.get(name)?.current
  }

  /** Forgets a name; its calls under way end as they are. */
  drop(name: string): void {
    const slot = this.#slots.get(name)
    if (slot === undefined) return
    this.#slots.delete(name)
    slot.next = null
    this.#end(slot.current)
  }

  /** The code of a version, asked for once. A loader that fails is asked again by the next call. */
  load(version: Version): Promise<LoadedCode> {
    return version.loaded ??= this.#load(version).catch((error) => {
      version.loaded = null
      throw error
    })
  }

  /** Whether calls of a version are still to be looked at. */
  learns({ state }: Version): boolean {
    return state === 'once' && this.#options.promoteAfter > 0
  }

  /** Boots a native program, which needs a machine of its own for its first call. */
  async start(version: Version): Promise<void> {
    if (version.state === 'gone') throw new SandboxError('The program was dropped')
    if (version.state === 'warm') return
    const { refusal } = version
    if (refusal !== null && performance.now() < refusal.until) throw refusal.error
    await (version.starting ??= this.#start(version).finally(() => version.starting = null))
  }

  async #start(version: Version): Promise<void> {
    const begin = performance.now()
    try {
      await this.#makeWarm(version)
    } catch (cause) {
      const error = new CrashError(`The program does not start: ${toPrintable((cause as Error).message)}`, {
        cause,
      })
      const now = performance.now()
      version.refusal = { error, until: now + START_PAUSES * (now - begin) }
      throw error
    }
  }

  /** Notes a use. Gives the snapshot that it goes to, or null for the runner. */
  use(version: Version): Running | null {
    version.uses++
    if (version.state === 'warm' && version.running!.booted.inMemory === false) {
      // To load and warm it up takes longer than to bring the code along: it may get another snapshot behind the scenes.
      this.#machines.retire(version.running!)
      this.lose(version, version.running!)
    }
    if (version.state === 'warm') {
      this.#warm.delete(version)
      this.#warm.add(version)
      return version.running
    }
    const { promoteAfter } = this.#options
    if (version.starting !== null) return null
    const isUsed = version.state === 'once' && promoteAfter > 0 && version.uses >= promoteAfter
    if (isUsed && mayPromote(version.succession, performance.now())) this.#promote(version)
    return null
  }

  /** The snapshot of a version takes no more calls: its machines were closed. It may get another. */
  lose(version: Version, running: Running): void {
    if (version.running !== running) return
    this.#warm.delete(version)
    version.running = null
    version.uses = 0
    version.state = 'once'
  }

  /** Ends all of them after their calls. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#making
    for (const version of this.#warm) this.#machines.retire(version.running!)
    this.#warm.clear()
    this.#slots.clear()
  }

  async #load(version: Version): Promise<LoadedCode> {
    const { runtime, limits } = this.#options
    const code = await loadCode(version.loader, runtime)
    this.#keep(version, code.bytes)
    const kind = code.native === undefined ? runtime : 'deno'
    return { code, limits: resolveLimits(kind, code.limits, limits), shapes: new Shapes(code.program) }
  }

  /** Counts the code of a version, and lets go of that of others over the budget. Who holds a program without a name holds its code too. */
  #keep(version: Version, bytes: number): void {
    if (version.name === undefined || version.state === 'gone') return
    version.bytes = bytes
    this.#bytes += bytes
    for (const { current } of this.#slots.values()) {
      if (this.#bytes <= this.#options.codeMb * (1 << 20)) break
      if (current !== version) this.#release(current)
    }
  }

  #release(version: Version): void {
    this.#bytes -= version.bytes
    version.bytes = 0
    version.loaded = null
  }

  #swap(slot: Slot, next: Version): void {
    slot.next = next
    slot.settled = this.#tryOut(next).then(
      () => {
        if (slot.next !== next) return this.#end(next)
        const former = slot.current
        next.succession = succeed(former.succession, performance.now())
        slot.current = next
        slot.next = null
        this.#end(former)
        this.#tell('sandbox:swap', next)
      },
      (error) => {
        if (slot.next === next) slot.next = null
        this.#end(next)
        this.#tell('sandbox:refused', next, { reason: (error as Error).message })
        throw error
      },
    )
    // Who wants to know waits for it; the event tells all others.
    slot.settled.catch(() => {})
  }

  #forget(): void {
    const [name, { current }] = this.#slots.entries().next().value!
    this.#slots.delete(name)
    this.#end(current)
    this.#tell('sandbox:drop', current, { reason: 'programs', limit: this.#options.programs })
  }

  #end(version: Version): void {
    version.state = 'gone'
    this.#release(version)
    if (this.#warm.delete(version)) this.#machines.retire(version.running!)
    version.running = null
  }

  #promote(version: Version): void {
    version.state = 'promoting'
    this.#making = this.#making.then(() => this.#makeWarm(version)).catch((error) => {
      // It cannot be loaded without a call: then it goes on as it is.
      if (version.state === 'promoting') version.state = 'cold'
      this.#tell('sandbox:refused', version, { reason: (error as Error).message })
    })
  }

  async #makeWarm(version: Version): Promise<void> {
    const isOver = () => this.#closed || version.state === 'gone'
    if (isOver()) return
    const begin = performance.now()
    const { code, limits, shapes } = await this.load(version)
    const kind = { options: limits.options, typed: code.typed }
    const name = version.name ?? 'a program'
    const names = code.names === undefined ? undefined : { ...code.names, samples: shapes.samples }
    const plan = code.native === undefined
      ? await planLoaded(name, kind, { ...code, names }, toWarmup(shapes.all), ownerOf(version))
      : await planNative(name, limits.options, code.native, ownerOf(version))
    const running = await this.#machines.boot(plan)
    const failed = failureOf(running)
    if (failed === null && !isOver()) await running.machines.prepare(running.booted)
    if (failed !== null || isOver()) {
      this.#machines.retire(running)
      if (failed !== null) throw new Error(failed)
      return
    }
    version.running = running
    version.state = 'warm'
    this.#warm.add(version)
    this.#tell('sandbox:ready', version, { bootMs: performance.now() - begin, warm: true })
    if (this.#warm.size > this.#options.promoted) this.#demote()
  }

  #demote(): void {
    const [oldest] = this.#warm
    this.#warm.delete(oldest!)
    this.#machines.retire(oldest!.running!)
    oldest!.running = null
    oldest!.uses = 0
    oldest!.state = 'once'
    this.#tell('sandbox:drop', oldest!, { reason: 'promoted', limit: this.#options.promoted })
  }

  #tell(
    kind: 'sandbox:swap' | 'sandbox:refused' | 'sandbox:drop' | 'sandbox:ready',
    { name, version }: Version,
    more: Readonly<Record<string, unknown>> = {},
  ): void {
    this.#events.tell(kind, { name, version, runtime: this.#options.runtime, ...more })
  }
}

/** The same for a name in every isolate that shares the machines (FNV-1a). Two names of one number share their turns. */
function flowOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % FLOWS + 1
}

/** Why the modules of a program did not load before its snapshot. */
function failureOf({ booted }: Running): string | null {
  const limits = { header: HEADER_MAX, body: HEADER_MAX }
  const [first] = decodeDescription(booted.description, limits).handlers
  return first?.error === undefined ? null : toPrintable(first.error.message)
}

/** Whose snapshot it is: one without a name is nobody else's. */
function ownerOf({ name }: Version): string {
  return name ?? crypto.randomUUID()
}

function toWarmup(shapes: readonly CallShape[]): Warmup[] {
  const none = { program: undefined, env: undefined, props: undefined, reach: undefined }
  return shapes.map((shape): Warmup => {
    const count = Math.ceil(WARMUP_RUNS / shapes.length)
    if (shape.kind === 'call') {
      const { entrypoint, method, args } = shape
      const call: Call = { ...none, entrypoint, method, args }
      return { handler: CALL_HANDLER, frame: toCallFrame(call), count, tried: null }
    }
    const { entrypoint, method, path, type, body, props } = shape
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const request = new Request(new URL(path, 'http://sandbox/'), {
      method,
      headers: type === '' ? {} : { 'content-type': type },
    })
    const bytes = new TextEncoder().encode(hasBody ? body : '')
    if (props !== null) {
      const handler = props === undefined ? PLAIN_FETCH_HANDLER : PROPS_FETCH_HANDLER
      return { handler, frame: toPlainFetchFrame(request, bytes, { props }), count, tried: null }
    }
    return {
      handler: FETCH_HANDLER,
      frame: toFetchFrame(request, { ...none, entrypoint, body: bytes }),
      count,
      tried: null,
    }
  })
}
