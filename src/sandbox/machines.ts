/** The machines of a sandbox: one runner for each set of limits that is asked for, and the programs that have a snapshot of their own. */
import type { Awaitable } from '../context/types.ts'
import type { BootedProgram, Machines } from '../isolate/machines/machines.ts'
import type { Completion, SubmitOptions } from '../isolate/machines/completion.ts'
import type { Program, ProgramOptions } from '../isolate/plan/program.ts'
import { planRunner, type RunnerKind } from './runner.ts'

/** A program in the machines. */
export interface Running {
  readonly plan: Program
  readonly booted: BootedProgram
  readonly machines: Machines
}

/** Sets of limits that have a runner at the same time. */
const MAX_RUNNERS = 16

/** Runners by their limits. */
export class SandboxMachines {
  readonly #open: () => Promise<Machines>
  readonly #runners = new Map<string, Promise<Running>>()
  readonly #leaving = new Set<Promise<void>>()

  /** `open` gives the machines as they are: a router's may be opened late, and anew. */
  constructor(open: () => Promise<Machines>) {
    this.#open = open
  }

  /** The runner for these limits, booted if need be; beyond {@linkcode MAX_RUNNERS} the one that was not used for the longest time ends. */
  runner(kind: RunnerKind): Promise<Running> {
    const key = keyOf(kind)
    const known = this.#runners.get(key)
    this.#runners.delete(key)
    const runner = known ?? this.#boot(kind)
    this.#runners.set(key, runner)
    if (known !== undefined) return runner
    runner.catch(() => {
      if (this.#runners.get(key) === runner) this.#runners.delete(key)
    })
    if (this.#runners.size > MAX_RUNNERS) this.#drop(this.#runners.keys().next().value!)
    return runner
  }

  /** Boots a program. */
  async boot(plan: Program): Promise<Running> {
    const machines = await this.#open()
    return { plan, booted: await machines.boot(plan), machines }
  }

  /** Runs a frame; as {@linkcode Machines.submit}. */
  submit(
    { booted, machines }: Running,
    frame: Uint8Array<ArrayBuffer>,
    options: Pick<SubmitOptions, 'timeoutMs' | 'flow' | 'weight' | 'channel' | 'keep'>,
  ): Awaitable<Completion> {
    return machines.submit(booted, frame, options)
  }

  /** Ends a program after its runs. */
  retire({ booted, machines }: Running): void {
    const left = machines.retire(booted).catch(() => {}).finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
  }

  /** Forgets a runner that takes no more: its machines are closed, and others may be there. */
  forget(running: Running): void {
    for (const [key, runner] of this.#runners) {
      runner.then(
        (known) => known === running && this.#runners.get(key) === runner && this.#runners.delete(key),
        () => {},
      )
    }
  }

  /** Ends the runners after their runs. */
  async close(): Promise<void> {
    const runners = [...this.#runners.values()]
    this.#runners.clear()
    for (const runner of runners) await runner.then((running) => this.retire(running), () => {})
    await Promise.all(this.#leaving)
  }

  #drop(key: string): void {
    const runner = this.#runners.get(key)!
    this.#runners.delete(key)
    runner.then((running) => this.retire(running), () => {})
  }

  async #boot(kind: RunnerKind): Promise<Running> {
    return await this.boot(await planRunner(kind))
  }
}

/** Runs whose limits are equal share a runner; the time of one is its own affair. */
function keyOf({ options, typed }: RunnerKind): string {
  const { timeoutMs: _, ...rest } = options satisfies ProgramOptions
  return JSON.stringify([rest, options.runtime === 'core' && typed])
}
