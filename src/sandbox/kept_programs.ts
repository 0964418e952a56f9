/** The kept programs of a sandbox, by their names. */
import { openVirtualMachines } from '../isolate/boot/virtual_machines.ts'
import type { Machines, ParkedLimits } from '../isolate/machines/machines.ts'
import { takeValue } from './answer.ts'
import { toTalk } from './channel.ts'
import { FetchAnswer } from './fetch_answer.ts'
import { loadCode } from './packages.ts'
import type { SandboxEvents } from './events.ts'
import { type Handover, type KeptCode, KeptProgram } from './kept.ts'
import { type ResolvedLimits, resolveLimits, withTimeout } from './limits.ts'
import { type Running, SandboxMachines } from './machines.ts'
import type { Call } from './message.ts'
import type { ResolvedSandboxOptions } from './options.ts'
import type { SandboxLoader } from './programs.ts'
import { takeBody } from './request_body.ts'
import { toCallFrame, toFetchFrame } from './runner.ts'
import { type Done, perform, type Run } from './runs.ts'
import type { Asks, CallOptions } from './worker.ts'

/** What a frame leaves out for a machine that has its program. */
const IN_MACHINE = { program: undefined, env: undefined, reach: undefined } as const

/** Machines of one worker: one of each program. */
export function openKeptMachines(queue: number, parked: ParkedLimits): Promise<Machines> {
  return openVirtualMachines({ vms: 1, queue, parked })
}

/** Programs by their names, and the machines of one worker that run them. */
export class KeptPrograms {
  readonly #options: ResolvedSandboxOptions
  readonly #open: () => Promise<Machines>
  readonly #events: SandboxEvents
  readonly #sockets: Set<WebSocket>
  readonly #programs = new Map<string, KeptProgram>()
  /** Opened for the first program. */
  #machines: { readonly opened: Promise<Machines>; readonly machines: SandboxMachines } | null = null

  constructor(
    options: ResolvedSandboxOptions,
    open: () => Promise<Machines>,
    events: SandboxEvents,
    sockets: Set<WebSocket>,
  ) {
    this.#options = options
    this.#open = open
    this.#events = events
    this.#sockets = sockets
  }

  /** What asks the program of a name; another version than before takes the place of the former if it loads. */
  get(name: string, load: SandboxLoader, version: string | undefined): Asks {
    const next = { version, load: () => this.#load(load) }
    let program = this.#programs.get(name)
    let settled = Promise.resolve()
    if (program === undefined) {
      if (this.#programs.size >= this.#options.promoted) {
        throw new RangeError(
          `Cannot keep the program ${name}: ${this.#programs.size} are kept, want at most the sandbox's promoted`,
        )
      }
      const machines = () => this.#pool().machines
      program = new KeptProgram({ name, machines, queue: this.#options.queue }, next)
      this.#programs.set(name, program)
    } else if (version !== undefined && version !== program.version) {
      settled = program.swap(next, this.#toHandover(name))
      settled.catch((error) =>
        this.#events.tell('sandbox:refused', {
          name,
          version,
          runtime: this.#options.runtime,
          reason: (error as Error).message,
        })
      )
    }
    const kept = program
    return {
      call: (call, options) =>
        kept.call((running, loaded) => this.#call(name, running, loaded, call, options)),
      fetch: async (request, call, options) => {
        const { first, rest } = await takeBody(request, this.#options.maxBodyBytes, true)
        const frame = toFetchFrame(request, { ...call, ...IN_MACHINE, body: first }, rest !== null)
        // The next call waits for the end of a stream.
        const answered = Promise.withResolvers<Response>()
        kept.call((running, loaded) => {
          const limits = withTimeout(loaded.limits, options)
          const answer = new FetchAnswer(request, rest, limits, loaded.code.toStack, this.#sockets)
          const run = this.#run(name, running, loaded, frame, options, answer).then(({ done }) => done)
          answer.of(run).then(answered.resolve, answered.reject)
          return run
        }).catch((error) => {
          // It was never asked.
          rest?.cancel()
          answered.reject(error)
        })
        return await answered.promise
      },
      ready: async () => {
        await settled
        await kept.call(() => Promise.resolve())
      },
    }
  }

  #pool() {
    if (this.#machines !== null) return this.#machines
    const opened = this.#open()
    return this.#machines = { opened, machines: new SandboxMachines(() => opened) }
  }

  async #load(load: SandboxLoader): Promise<KeptCode> {
    const code = await loadCode(load, this.#options.runtime)
    if (code.native !== undefined) {
      throw new TypeError('Cannot keep a program: it is native, want one that is reset after each call')
    }
    return { code, limits: resolveLimits(this.#options.runtime, code.limits, this.#options.limits) }
  }

  async #call(
    name: string,
    running: Running,
    loaded: KeptCode,
    call: Omit<Call, 'program' | 'env' | 'reach'>,
    options: CallOptions,
  ): Promise<unknown> {
    const frame = toCallFrame({ ...call, ...IN_MACHINE })
    const { limits, done } = await this.#run(name, running, loaded, frame, options)
    return takeValue(limits, done.completion, done.remains, loaded.code.toStack).value
  }

  async #run(
    name: string,
    running: Running,
    loaded: KeptCode,
    frame: Uint8Array<ArrayBuffer>,
    options: CallOptions,
    answer: FetchAnswer | null = null,
  ): Promise<{ readonly limits: ResolvedLimits; readonly done: Done }> {
    const limits = withTimeout(loaded.limits, options)
    const talk = toTalk(loaded.code, name, answer)
    const run: Run = { running, limits, frame, flow: 0, weight: 1, name, warm: true, ...talk, keep: true }
    const { machines } = this.#pool()
    return { limits, done: await perform(machines, this.#events, this.#options, run) }
  }

  #toHandover(name: string): Handover {
    const ask = (running: Running, loaded: KeptCode, entrypoint: string | null, args: readonly unknown[]) =>
      this.#call(name, running, loaded, { entrypoint, method: undefined, args, props: undefined }, {})
    const exports = async (running: Running, loaded: KeptCode, wanted: string) =>
      (await ask(running, loaded, null, []) as readonly string[]).includes(wanted)
    return {
      handover: async (running, loaded) =>
        await exports(running, loaded, 'handover') ? await ask(running, loaded, 'handover', []) : undefined,
      takeover: async (running, loaded, value) => {
        if (await exports(running, loaded, 'takeover')) await ask(running, loaded, 'takeover', [value])
      },
    }
  }

  /** Ends all of them after the calls that wait. */
  async close(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.close()))
    if (this.#machines === null) return
    const { opened, machines } = this.#machines
    await machines.close()
    await opened.then((opened) => opened.close(), () => {})
  }
}
