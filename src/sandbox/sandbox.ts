/**
 * Code that arrives at runtime, in machines that are reset after every run.
 *
 * ```text
 * run(text)  -> runner ----------------------------------+
 * load(code) -> SandboxWorker -> runner, or its snapshot -+-> frame -> machine -> frame -> value, response or error
 * get(name)  -> SandboxWorker -> runner, or its snapshot -+
 * ```
 */
import { stopEsbuild } from '../compiler/esbuild.ts'
import type { EventPattern } from '../events/bus.ts'
import type { LifecycleListener } from '../events/kinds.ts'
import { ClosedError } from '../isolate/machines/errors.ts'
import type { Completion } from '../isolate/machines/completion.ts'
import type { Machines } from '../isolate/machines/machines.ts'
import { openVirtualMachines } from '../isolate/boot/virtual_machines.ts'
import { takeValue } from './answer.ts'
import { type CheckedCode, checkText, type SandboxCode } from './code.ts'
import { QueueError, type RunStats, SandboxError } from './errors.ts'
import { SandboxEvents } from './events.ts'
import { KnownLimits, resolveLimits, type SandboxLimits, withTimeout } from './limits.ts'
import type { Reach } from '../reach/calls/conversation.ts'
import { toTalk } from './channel.ts'
import { FetchAnswer } from './fetch_answer.ts'
import { KeptPrograms, openKeptMachines } from './kept_programs.ts'
import { takeBody } from './request_body.ts'
import { SandboxMachines } from './machines.ts'
import type { Call, FetchCall } from './message.ts'
import { checkOption } from '../options/check.ts'
import {
  type ResolvedSandboxOptions,
  resolveSandboxOptions,
  type SandboxOptions,
  WEIGHT_RULE,
} from './options.ts'
import { type LoadedCode, Programs, type SandboxLoader, type Version } from './programs.ts'
import { toCallFrame, toFetchFrame, toPlainFetchFrame, toPlainProps } from './runner.ts'
import { type Done, perform, type Run } from './runs.ts'
import { type Asks, type CallOptions, SandboxWorker } from './worker.ts'

/** How {@linkcode Sandbox.run} runs a text. */
export interface RunOptions<Env extends object = Readonly<Record<string, unknown>>> extends SandboxLimits {
  /** What its default export is called with. */
  readonly args?: readonly unknown[] | undefined
  /** Default `js`. */
  readonly language?: 'js' | 'ts' | undefined
  /** The export that is called. Default `default`. */
  readonly export?: string | undefined
  /** What it finds in `this.env`, as of a program by name. */
  readonly env?: Env | undefined
  /** What its `fetch` reaches. Default: nothing. */
  readonly outbound?: SandboxCode['outbound'] | undefined
}

/** Which program {@linkcode Sandbox.get} gives. */
export interface GetOptions {
  /** Another one than before: a new version, which takes the place of the former if it loads. */
  readonly version?: string | undefined
  /** Default true. False: one machine, which is not reset, runs one call after the other. */
  readonly ephemeral?: boolean | undefined
}

/** What came of a run. */
export interface RunResult {
  /** A structured clone of what the function gave, or of the export that is none. */
  readonly value: unknown
  /** What the program wrote to its console. */
  readonly logs: string
  readonly stats: RunStats
}

/** Counts of a sandbox. */
export interface SandboxStats {
  /** Runs since it was opened, and those that ended with an error. */
  readonly runs: number
  readonly failed: number
  /** Programs by name: how often each was called, and whether it has a snapshot of its own. */
  readonly programs: readonly {
    readonly name: string
    readonly version: string | undefined
    readonly uses: number
    readonly warm: boolean
  }[]
}

/** What a sandbox is made of. */
export interface SandboxParts {
  readonly options: ResolvedSandboxOptions
  /** Gives the machines as they are now; called before each boot of a program. */
  readonly open: () => Promise<Machines>
  readonly events: SandboxEvents
  /** Opens machines of one worker, for programs that keep their state; they end with the sandbox. */
  readonly openKept: () => Promise<Machines>
  /** The machines are the sandbox's own, and end with it. */
  readonly own: boolean
}

/** Loads a program, and asks nothing of it. */
const LOADING = { entrypoint: null, method: undefined, args: [], props: undefined } as const

/** Runs code that the application does not know; `Env`: what its programs have in their environment. */
export class Sandbox<Env extends object = Readonly<Record<string, unknown>>> implements AsyncDisposable {
  readonly #options: ResolvedSandboxOptions
  readonly #machines: SandboxMachines
  readonly #events: SandboxEvents
  readonly #programs: Programs
  readonly #limits: KnownLimits
  readonly #open: (() => Promise<Machines>) | null
  readonly #kept: KeptPrograms
  /** Runs under way that may ask the host, by the flow of their program. */
  readonly #talking = new Map<number, number>()
  /** Those of programs that are open. */
  readonly #sockets = new Set<WebSocket>()
  #runs = 0
  #failed = 0
  #closing: Promise<void> | null = null

  /** For {@linkcode Sandbox.open}, and for a router. */
  constructor({ options, open, openKept, events, own }: SandboxParts) {
    this.#options = options
    this.#machines = new SandboxMachines(open)
    this.#events = events
    this.#limits = new KnownLimits(options.runtime, options.limits)
    this.#open = own ? open : null
    this.#kept = new KeptPrograms(options, openKept, events, this.#sockets)
    this.#programs = new Programs(
      options,
      this.#machines,
      events,
      (version) => this.#call(version, LOADING, {}, false),
    )
  }

  /**
   * Opens machines and readies one for code in JavaScript. Rejects with `IsolationUnavailableError` where no machine can run, and says
   * what to do; with `TypeError` or `RangeError` for options that are none.
   */
  static async open<Env extends object = Readonly<Record<string, unknown>>>(
    options: SandboxOptions = {},
  ): Promise<Sandbox<Env>> {
    const resolved = resolveSandboxOptions(options)
    const { vms, queue, parked, memoryBudgetMb } = resolved
    const budget = memoryBudgetMb === undefined ? {} : { memoryBudgetMb }
    const machines = await openVirtualMachines({
      vms,
      queue,
      parked,
      ...budget,
    })
    const parts = {
      options: resolved,
      open: () => Promise.resolve(machines),
      openKept: () => openKeptMachines(queue, parked),
      events: new SandboxEvents(),
      own: true,
    }
    const sandbox = new Sandbox<Env>(parts)
    try {
      await sandbox.prepare()
      return sandbox
    } catch (error) {
      await sandbox.close()
      throw error
    }
  }

  /** Readies the machine that waits for code of the sandbox's own limits. */
  async prepare(): Promise<void> {
    const { options } = resolveLimits(this.#options.runtime, this.#options.limits)
    await this.#machines.runner({ options, typed: false })
  }

  /**
   * Runs a text once: its default export is called with `args`, or is the value if it is no function. Rejects with a `SandboxError`:
   * `ThrownError` for what the program threw, a `LimitError` for a limit.
   */
  async run(text: string, options: RunOptions<Env> = {}): Promise<RunResult> {
    if (typeof text !== 'string') {
      throw new TypeError(`Cannot run a program: it is ${Deno.inspect(text)}, want its text`)
    }
    const { args = [], language = 'js', export: entrypoint = 'default', env, outbound, ...given } = options
    const limits = this.#limits.resolve(given)
    const code = checkText(text, language, {
      ...(env === undefined ? {} : { env: env as SandboxCode['env'] }),
      ...(outbound === undefined ? {} : { outbound }),
    })
    const call = {
      program: code.program,
      entrypoint,
      method: undefined,
      args,
      env: code.env,
      props: undefined,
      reach: code.names,
    }
    return await this.#count(async () => {
      const done = await this.#runOnce({ code, limits }, toCallFrame(call), {
        flow: 0,
        weight: 1,
        name: undefined,
      })
      const { completion, remains } = done
      return takeValue(limits, completion, remains)
    })
  }

  /** A program without a name. Throws `TypeError` for what is none. */
  load(code: SandboxCode<Env>): SandboxWorker {
    const version = this.#programs.make(undefined, () => code as SandboxCode, undefined)
    return new SandboxWorker(this.#asks(() => version, () => Promise.resolve()))
  }

  /**
   * The program of a name. Its first call asks the loader; a known name does not ask again, unless `version` is another one than before:
   * then that is loaded while the former goes on, and takes its place if it loads.
   */
  get(
    name: string,
    loader: SandboxLoader<Env> | SandboxCode<Env>,
    options: GetOptions = {},
  ): SandboxWorker {
    if (typeof name !== 'string' || name === '' || name.length > 256) {
      throw new TypeError(`Cannot get a program: its name is ${Deno.inspect(name)}, want 1 to 256 characters`)
    }
    const load = (typeof loader === 'function' ? loader : () => loader) as SandboxLoader
    const { version, ephemeral = true } = options
    if (!ephemeral) {
      const asks = this.#kept.get(name, load, version)
      return new SandboxWorker({
        ...asks,
        call: (...call) => this.#count(() => asks.call(...call)),
        fetch: (...call) => this.#count(() => asks.fetch(...call)),
      })
    }
    const { settled } = this.#programs.find(name, load, version)
    const current = () => this.#programs.current(name) ?? this.#programs.find(name, load, version).current
    return new SandboxWorker(this.#asks(current, () => settled))
  }

  /** Forgets the program of a name, after the calls under way; the next `get` asks its loader. */
  drop(name: string): void {
    this.#programs.drop(name)
  }

  /** Calls `listener` for events of this sandbox: `sandbox:timeout`, or `sandbox:*`. Gives what ends that. */
  on(pattern: EventPattern, listener: LifecycleListener): () => void {
    return this.#events.listen(pattern, listener)
  }

  /** Counts so far. */
  stats(): SandboxStats {
    return {
      runs: this.#runs,
      failed: this.#failed,
      programs: this.#programs.list().map(({ name, version, uses, state }) => ({
        name: name!,
        version,
        uses,
        warm: state === 'warm',
      })),
    }
  }

  /** Refuses further runs, closes WebSockets with 1001, and ends after the runs under way, which their limits bound. */
  close(): Promise<void> {
    return this.#closing ??= this.#close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    for (const socket of this.#sockets) socket.close(1001, 'The sandbox is closing')
    await this.#programs.close()
    await this.#kept.close()
    await this.#machines.close()
    if (this.#open === null) return
    await (await this.#open()).close()
    await stopEsbuild()
  }

  #asks(current: () => Version, settled: () => Promise<void>): Asks {
    return {
      call: (call, options) => this.#call(current(), call, options, true),
      fetch: (request, call, options) => this.#fetch(current(), request, call, options),
      ready: async () => {
        await settled()
        await this.#call(current(), LOADING, {}, false)
      },
    }
  }

  async #call(
    version: Version,
    call: Omit<Call, 'program' | 'env' | 'reach'>,
    options: CallOptions,
    counts: boolean,
  ): Promise<unknown> {
    const { entrypoint, method, args } = call
    return await this.#count(async () => {
      const loaded = await this.#programs.load(version)
      if (loaded.code.native !== undefined) {
        if (entrypoint === null) return await this.#programs.start(version)
        throw new TypeError(`Cannot call ${method ?? entrypoint}: the program is native, want fetch`)
      }
      const limits = withTimeout(loaded.limits, options)
      if (entrypoint !== null && this.#programs.learns(version)) {
        loaded.shapes.addCall(entrypoint, method, args)
      }
      const { completion, remains } = await this.#perform(
        version,
        { ...loaded, limits },
        (code) => toCallFrame({ ...call, program: code?.program, env: code?.env, reach: code?.names }),
        options,
        counts,
      )
      return takeValue(limits, completion, remains, loaded.code.toStack).value
    })
  }

  async #fetch(
    version: Version,
    request: Request,
    call: Pick<FetchCall, 'entrypoint' | 'props'>,
    options: CallOptions,
  ): Promise<Response> {
    return await this.#count(async () => {
      const loaded = await this.#programs.load(version)
      const isNative = loaded.code.native !== undefined
      const { first: body, rest } = await takeBody(request, this.#options.maxBodyBytes, !isNative)
      const hasRest = rest !== null
      const limits = withTimeout(loaded.limits, options)
      const isDefault = call.entrypoint === 'default'
      const props = call.props === undefined || !isDefault ? undefined : toPlainProps(call.props)
      const isPlain = isDefault && props !== null
      if (isNative) await this.#programs.start(version)
      else if (this.#programs.learns(version)) {
        loaded.shapes.addFetch(call.entrypoint, request, body, isPlain ? call.props : null)
      }
      const answer = new FetchAnswer(request, rest, limits, loaded.code.toStack, this.#sockets)
      const run = this.#perform(
        version,
        { ...loaded, limits },
        (code) =>
          isNative
            ? toPlainFetchFrame(request, body)
            : code === null && isPlain
            ? toPlainFetchFrame(request, body, { props, hasRest })
            : toFetchFrame(request, {
              ...call,
              program: code?.program,
              env: code?.env,
              reach: code?.names,
              body,
            }, hasRest),
        options,
        true,
        // One of Linux says nothing beside its answer.
        isNative ? null : answer,
      )
      return await answer.of(run, (response, { completion }) => {
        if (this.#options.serverTiming) response.headers.append('server-timing', toServerTiming(completion))
      })
    })
  }

  /** In the snapshot of the program, where it has one; else as code that nobody has seen. */
  async #perform(
    version: Version,
    loaded: LoadedCode,
    toFrame: (code: CheckedCode | null) => Uint8Array<ArrayBuffer>,
    options: CallOptions,
    counts: boolean,
    answer: FetchAnswer | null = null,
  ): Promise<Done> {
    const done = await this.#place(version, loaded, toFrame, checkWeight(options), counts, answer)
    options.onRun?.(done.remains)
    return done
  }

  async #place(
    version: Version,
    loaded: LoadedCode,
    toFrame: (code: CheckedCode | null) => Uint8Array<ArrayBuffer>,
    weight: number,
    counts: boolean,
    answer: FetchAnswer | null,
    tries = 0,
  ): Promise<Done> {
    const { flow, name } = version
    const running = counts ? this.#programs.use(version) : null
    if (running !== null) {
      try {
        const { limits } = loaded
        return await this.#run({
          running,
          limits,
          frame: toFrame(null),
          flow,
          weight,
          name,
          warm: true,
          ...toTalk(loaded.code, name, answer),
        })
      } catch (error) {
        // Dropped, or swapped, between the look at it and now.
        if (!isClosed(error) || this.#closing !== null) throw error
        this.#programs.lose(version, running)
      }
    }
    if (loaded.code.native !== undefined) {
      // Others took its place between its start and now.
      if (tries > 2) throw new SandboxError('Too many programs want a machine of their own')
      await this.#programs.start(version)
      return await this.#place(version, loaded, toFrame, weight, counts, answer, tries + 1)
    }
    const { shapes } = loaded
    const notice: Reach['notice'] = counts && this.#programs.learns(version)
      ? (...answer) => shapes.addAnswer(...answer)
      : undefined
    return await this.#runOnce(loaded, toFrame(loaded.code), { flow, weight, name }, answer, notice)
  }

  async #runOnce(
    { code, limits }: Pick<LoadedCode, 'code' | 'limits'>,
    frame: Uint8Array<ArrayBuffer>,
    whose: Pick<Run, 'flow' | 'weight' | 'name'>,
    answer: FetchAnswer | null = null,
    notice?: Reach['notice'],
  ): Promise<Done> {
    if (this.#closing !== null) throw new SandboxError('The sandbox is closed')
    const kind = { options: limits.options, typed: code.typed }
    for (let tries = 0;; tries++) {
      const running = await this.#machines.runner(kind)
      try {
        const talk = toTalk(code, whose.name, answer, notice)
        return await this.#run({ running, limits, frame, ...whose, warm: false, ...talk })
      } catch (error) {
        // Runners of other limits pushed it out, or a router's machines were opened anew.
        if (!isClosed(error) || this.#closing !== null || tries > 2) throw error
        this.#machines.forget(running)
      }
    }
  }

  async #run(run: Run): Promise<Done> {
    const { flow, talk: { channel }, name } = run
    const { parked, runtime } = this.#options
    // A text that is run once is a program of its own.
    if (channel === undefined || flow === 0) {
      return await perform(this.#machines, this.#events, this.#options, run)
    }
    // The machines bound it too, for all isolates of the process; this says which bound it is.
    const talking = this.#talking.get(flow) ?? 0
    if (talking >= parked.each) {
      this.#events.tell('sandbox:rejected', { name, runtime, limit: parked.each })
      throw new QueueError('Too many runs of the program ask the host', {
        name: 'parked',
        value: parked.each,
      })
    }
    this.#talking.set(flow, talking + 1)
    try {
      return await perform(this.#machines, this.#events, this.#options, run)
    } finally {
      const left = this.#talking.get(flow)! - 1
      if (left === 0) this.#talking.delete(flow)
      else this.#talking.set(flow, left)
    }
  }

  async #count<T>(work: () => Promise<T>): Promise<T> {
    this.#runs++
    try {
      return await work()
    } catch (error) {
      this.#failed++
      throw error
    }
  }
}

/** What is known when the response leaves: its machine is reset behind it, which the event tells. */
function toServerTiming({ queueUs, runUs, parkedUs }: Completion): string {
  const entries = { queue: queueUs, run: runUs, ...(parkedUs > 0 ? { parked: parkedUs } : {}) }
  return Object.entries(entries).map(([name, us]) => `sandbox-${name};dur=${(us / 1000).toFixed(3)}`).join(
    ', ',
  )
}

function isClosed(error: unknown): boolean {
  return error instanceof SandboxError && error.cause instanceof ClosedError
}

function checkWeight({ weight }: CallOptions): number {
  if (weight !== undefined) checkOption('call a program', 'weight', weight, WEIGHT_RULE)
  return weight ?? 1
}
