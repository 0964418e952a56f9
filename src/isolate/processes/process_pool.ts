/**
 * Programs in child processes, where no virtual machine can run. Deno's permissions are the boundary then, not hardware; a process
 * answers one request and is killed, unless the program keeps its state. Spare ones wait started, with their modules loaded.
 *
 * ```text
 * submit -> queue -> a spare process, or one that starts now: frame in, frame out -> killed, its memory with it
 *                          ^ started again in the background
 * ```
 */
import { join } from '@std/path'
import { BootError, ClosedError, IsolationUnavailableError, QueueFullError } from '../machines/errors.ts'
import { MachineReset } from '../machines/machine_reset.ts'
import type { Completion, SubmitOptions } from '../machines/completion.ts'
import type { BootedProgram, Machines, MachinesOptions } from '../machines/machines.ts'
import { RUNTIME_FILE } from '../bundle/bundle.ts'
import { type Program, PROGRAM_FILE } from '../plan/program.ts'
import { encodeControl } from '../wire/request_frame.ts'
import { ALONE } from '../wire/message.ts'
import { HEADER_MAX } from '../wire/wire.ts'
import { type Exchange, type GuestCommand, GuestProcess } from './guest_process.ts'

/** Longest start of a process, up to its loaded modules. */
const START_MS = 20_000
/** Seconds of CPU beside those of the request. */
const START_SECONDS = 20
/** Spare processes of a program, at most. */
const MAX_SPARES = 4
/** Private memory of Deno itself: 512 MiB that V8 reserves for code, and what an empty program needs. */
const BASE_BYTES = (512 + 96) << 20
const NOTHING = new Uint8Array(0)
const NO_RESET = new MachineReset('clean', 0, 0)
const NO_LOG = { log: NOTHING, logDropped: 0 }

/** A process that waits for its request. */
interface Spare {
  readonly process: GuestProcess
  /** How its start ended; `answered` when it is ready. */
  readonly started: Promise<Exchange>
}

class ProcessProgram implements BootedProgram {
  readonly plan: Program
  readonly command: GuestCommand
  readonly spares: Spare[] = []
  description: Uint8Array<ArrayBuffer> = NOTHING
  bootMs = 0
  /** Requests that run or wait. */
  pending = 0
  open = true
  idle: PromiseWithResolvers<void> | null = null

  constructor(plan: Program, command: GuestCommand) {
    this.plan = plan
    this.command = command
  }
}

interface Job {
  readonly program: ProcessProgram
  readonly frame: Uint8Array<ArrayBuffer>
  readonly options: SubmitOptions
  readonly submitted: number
  readonly resolve: (completion: Completion) => void
  readonly reject: (error: unknown) => void
}

/** Makes a pool of processes; none is started before a program boots. */
export async function openProcessPool({ vms, queue }: MachinesOptions): Promise<Machines> {
  return new ProcessPool(vms, queue, await Deno.makeTempDir({ prefix: 'mayfly-' }))
}

class ProcessPool implements Machines {
  readonly boundary = 'worker'
  readonly #places: number[]
  readonly #spares: number
  readonly #queue: number
  /** Holds the programs' files and Deno's caches. */
  readonly #folder: string
  readonly #programs = new Set<ProcessProgram>()
  readonly #waiting: Job[] = []
  #closing: Promise<void> | null = null

  constructor(vms: number, queue: number, folder: string) {
    this.#places = Array.from({ length: vms }, (_, index) => index)
    this.#spares = Math.min(vms, MAX_SPARES)
    this.#queue = queue
    this.#folder = folder
  }

  whileStarting(starts: () => Promise<void>): Promise<void> {
    return starts()
  }

  async boot(plan: Program): Promise<BootedProgram> {
    if (this.#closing !== null) throw new ClosedError('pool')
    if (plan.options.cpuMs > 0 && Deno.build.os !== 'linux') {
      throw new BootError(
        `Boot a program in a worker process: cpuMs needs Linux, and this is ${Deno.build.os}`,
      )
    }
    if (plan.options.runtime !== 'deno') {
      throw new IsolationUnavailableError(
        `Boot a program in a worker process: its runtime is '${plan.options.runtime}', want 'deno' there`,
      )
    }
    if (plan.options.coarseClockUs > 0) {
      throw new BootError(
        `Boot a program in a worker process: coarseClockUs is ${plan.options.coarseClockUs}, ` +
          'want 0 there: only a virtual machine has clocks of its own',
      )
    }
    const begin = performance.now()
    const program = new ProcessProgram(plan, await this.#write(plan))
    this.#programs.add(program)
    try {
      program.description = await this.#start(program)
    } catch (error) {
      await this.retire(program)
      throw error
    }
    program.bootMs = performance.now() - begin
    this.#refill(program)
    return program
  }

  /** Starts the first process, which describes the program. */
  async #start(program: ProcessProgram): Promise<Uint8Array<ArrayBuffer>> {
    const first = start(program)
    const { outcome, frame, detail, message } = await first.started
    if (outcome === 'answered') {
      program.spares.push(first)
      return frame
    }
    await first.process.end()
    const words = new TextDecoder().decode(first.process.takeLog().log).trimEnd()
    throw new BootError(`Boot a program in a worker process: ${outcome} ${detail} ${message}\n${words}`)
  }

  submit(
    booted: BootedProgram,
    frame: Uint8Array<ArrayBuffer>,
    options: SubmitOptions,
  ): Promise<Completion> {
    const program = booted as ProcessProgram
    if (this.#closing !== null) return Promise.reject(new ClosedError('pool'))
    if (!program.open) return Promise.reject(new ClosedError('program'))
    if (options.channel !== undefined) {
      const why =
        'Run a request with a channel to the host in a worker process: only virtual machines have one'
      return Promise.reject(new IsolationUnavailableError(why))
    }
    if (this.#places.length === 0 && this.#waiting.length >= this.#queue) {
      return Promise.reject(new QueueFullError())
    }
    program.pending++
    const { promise, resolve, reject } = Promise.withResolvers<Completion>()
    this.#waiting.push({ program, frame, options, submitted: performance.now(), resolve, reject })
    this.#next()
    return promise
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  async retire(booted: BootedProgram): Promise<void> {
    const program = booted as ProcessProgram
    program.open = false
    if (program.pending > 0) {
      program.idle ??= Promise.withResolvers()
      await program.idle.promise
    }
    this.#programs.delete(program)
    for (const { process } of program.spares.splice(0)) await process.end()
    await Deno.remove(folderOf(this.#folder, program.plan), { recursive: true }).catch(ignoreMissing)
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close()
  }

  async #close(): Promise<void> {
    for (const program of [...this.#programs]) await this.retire(program)
    await Deno.remove(this.#folder, { recursive: true }).catch(ignoreMissing)
  }

  async #write(plan: Program): Promise<GuestCommand> {
    const folder = folderOf(this.#folder, plan)
    await Deno.mkdir(folder, { recursive: true })
    const path = join(folder, PROGRAM_FILE)
    await Deno.writeFile(path, plan.bundle.code)
    await Deno.writeFile(join(folder, RUNTIME_FILE), plan.runtime.code)
    const { memoryMb, timeoutMs, ephemeral, limits } = plan.options
    const args = plan.args.slice(0, -1)
    return {
      args: [...args, `--v8-flags=--max-old-space-size=${memoryMb}`, path, ALONE],
      env: { ...plan.env, DENO_DIR: join(this.#folder, 'cache') },
      dataBytes: BASE_BYTES + memoryMb * (1 << 20),
      cpuSeconds: ephemeral ? START_SECONDS + Math.ceil(timeoutMs / 1000) : null,
      files: limits.files,
      logBytes: limits.logBytes,
    }
  }

  /** Starts jobs while there are places. */
  #next(): void {
    while (this.#places.length > 0) {
      const job = this.#waiting.shift()
      if (job === undefined) return
      const place = this.#places.shift()!
      this.#run(job, place).then(job.resolve, job.reject).finally(() => {
        const { program } = job
        this.#places.unshift(place)
        program.pending--
        if (program.pending === 0) program.idle?.resolve()
        this.#next()
      })
    }
  }

  async #run({ program, frame, options, submitted }: Job, place: number): Promise<Completion> {
    let spare: Spare
    try {
      spare = program.spares.shift() ?? start(program)
    } catch (error) {
      return toCompletion(failed(error), NO_LOG, [submitted], place)
    }
    const { process, started } = spare
    const { ephemeral, outputBytes, cpuMs } = program.plan.options
    if (ephemeral) this.#refill(program)
    let ended = await started
    const begin = performance.now()
    if (ended.outcome === 'answered') {
      const limits = { header: HEADER_MAX, body: outputBytes }
      const { timeoutMs } = options
      ended = await process.exchange(frame, { frame: limits, timeoutMs, cpuMs }).catch(failed)
    }
    const times = [submitted, begin, performance.now()]
    if (options.keep === true && ended.outcome === 'answered') program.spares.unshift(spare)
    else await process.end()
    return toCompletion(ended, process.takeLog(), times, place)
  }

  /** Starts spare processes in the background. One that cannot be started is tried again with the next request. */
  #refill(program: ProcessProgram): void {
    const wanted = program.plan.options.ephemeral ? this.#spares : 1
    try {
      while (program.open && program.spares.length < wanted) program.spares.push(start(program))
    } catch (error) {
      console.error(
        `mayfly: a spare worker for isolated routes cannot be started: ${(error as Error).message}`,
      )
    }
  }
}

/** Starts a process, and has it load its modules. */
function start({ command }: ProcessProgram): Spare {
  const process = new GuestProcess(command)
  const limits = { header: HEADER_MAX, body: HEADER_MAX }
  const started = process.exchange(encodeControl({ control: 'describe' }), {
    frame: limits,
    timeoutMs: START_MS,
    cpuMs: 0,
  })
    .then(
      (exchange) =>
        exchange.outcome === 'timeout'
          ? failed(new Error(`the worker process was not ready in ${START_MS} ms`))
          : exchange,
      failed,
    )
  return { process, started }
}

function failed(error: unknown): Exchange {
  return { outcome: 'failed', frame: NOTHING, detail: 0, message: (error as Error).message }
}

/** `times`: submitted, begun, ended. */
function toCompletion(
  { outcome, frame, detail, message }: Exchange,
  log: ReturnType<GuestProcess['takeLog']>,
  [submitted, begin, end = begin]: readonly number[],
  worker: number,
): Completion {
  return {
    outcome,
    frame,
    ...log,
    message,
    denials: [],
    detail,
    parks: 0,
    parkedUs: 0,
    said: 0,
    heard: 0,
    queueUs: (begin! - submitted!) * 1000,
    runUs: (end! - begin!) * 1000,
    exits: 0,
    reset: NO_RESET,
    worker,
  }
}

function folderOf(root: string, { hash }: Program): string {
  return join(root, hash)
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error
}
