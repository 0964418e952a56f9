/**
 * Programs that keep their state: one machine each, in which one call runs after the other. They have a pool of one worker, so that there is
 * never a second machine of one.
 *
 * ```text
 * call -> queue -> machine, as the last call left it -> answer
 *                   | the call ends it, or goes over a limit: that call fails, and the next finds it as it was loaded
 * new version -> behind the calls that wait: handover() of the old -> takeover(value) of the new, which takes the place
 * ```
 */
import type { CheckedCode } from './code.ts'
import { QueueError, SandboxError } from './errors.ts'
import type { ResolvedLimits } from './limits.ts'
import type { Running, SandboxMachines } from './machines.ts'
import { planLoaded } from './runner.ts'

/** A program that was looked at. */
export interface KeptCode {
  readonly code: CheckedCode
  readonly limits: ResolvedLimits
}

/** One call, in the machine of a program. */
export type KeptCall<T> = (running: Running, loaded: KeptCode) => Promise<T>

/** What a kept program needs of its sandbox. */
export interface KeptParts {
  readonly name: string
  /** Gives the machines, opened if need be. */
  readonly machines: () => SandboxMachines
  /** Calls that may wait. */
  readonly queue: number
}

/** Gives a version of a program. */
export interface KeptVersion {
  readonly version: string | undefined
  readonly load: () => Promise<KeptCode>
}

/** What a program hands over to its next version, and takes over; as calls of its exports. */
export interface Handover {
  handover(running: Running, loaded: KeptCode): Promise<unknown>
  takeover(running: Running, loaded: KeptCode, value: unknown): Promise<void>
}

interface Alive {
  readonly running: Running
  readonly loaded: KeptCode
}

/** A program with its state. */
export class KeptProgram {
  readonly #parts: KeptParts
  #version: KeptVersion
  #alive: Alive | null = null
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #closed = false
  uses = 0

  constructor(parts: KeptParts, version: KeptVersion) {
    this.#parts = parts
    this.#version = version
  }

  get version(): string | undefined {
    return this.#version.version
  }

  /** Runs a call behind those that wait. Rejects with `QueueError` for one too many. */
  call<T>(work: KeptCall<T>): Promise<T> {
    return this.#enqueue(async () => {
      this.uses++
      const { running, loaded } = await this.#start()
      return await work(running, loaded)
    })
  }

  /** Takes another version, behind the calls that wait; one that does not load leaves the former as it was, and rejects. */
  swap(next: KeptVersion, by: Handover): Promise<void> {
    return this.#enqueue(async () => {
      const former = this.#alive
      if (former === null) {
        this.#version = next
        return
      }
      const value = await by.handover(former.running, former.loaded)
      const made = await this.#boot(next)
      try {
        await by.takeover(made.running, made.loaded, value)
      } catch (error) {
        this.#parts.machines().retire(made.running)
        throw error
      }
      this.#version = next
      this.#alive = made
      this.#parts.machines().retire(former.running)
    })
  }

  /** Refuses further calls, and ends after those that wait. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#last
    if (this.#alive !== null) this.#parts.machines().retire(this.#alive.running)
    this.#alive = null
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new SandboxError('The sandbox is closed'))
    const { queue, name } = this.#parts
    if (this.#waiting >= queue) {
      return Promise.reject(new QueueError(`Too many calls of ${name} wait`, { name: 'queue', value: queue }))
    }
    this.#waiting++
    const done = this.#last.then(work).finally(() => this.#waiting--)
    this.#last = done.catch(() => {})
    return done
  }

  async #start(): Promise<Alive> {
    return this.#alive ??= await this.#boot(this.#version)
  }

  async #boot({ load }: KeptVersion): Promise<Alive> {
    const loaded = await load()
    const { code, limits } = loaded
    const options = { ...limits.options, ephemeral: false }
    const kind = { options, typed: code.typed }
    const plan = await planLoaded(this.#parts.name, kind, code, [], crypto.randomUUID())
    return { running: await this.#parts.machines().boot(plan), loaded }
  }
}
