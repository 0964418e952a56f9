/** A request to a program, and how it ended. */
import type { HostChannel } from './host_channel.ts'
import type { MachineReset } from './machine_reset.ts'

/**
 * How a request ended: `answered` with a frame; `timeout`, `cpu`, `memory`, `output` and `calls` over a limit; `exited` and
 * `killed` with status and signal; `stuck` with all threads waiting for ever; `misbehaved` with something that is no frame;
 * `failed` by the host's fault; `called-off` by the signal of its channel; `refused` for want of a place, as it began to talk.
 */
export type OutcomeName =
  | 'answered'
  | 'timeout'
  | 'cpu'
  | 'memory'
  | 'output'
  | 'calls'
  | 'exited'
  | 'killed'
  | 'stuck'
  | 'misbehaved'
  | 'failed'
  | 'called-off'
  | 'refused'

/** A request that is done. Times are microseconds. */
export interface Completion {
  readonly outcome: OutcomeName
  /** The response frame; empty unless `answered`. */
  readonly frame: Uint8Array<ArrayBuffer>
  /** What the request wrote to fd 2, up to the limit. */
  readonly log: Uint8Array<ArrayBuffer>
  /** Bytes of it that were over the limit. */
  readonly logDropped: number
  /** Words about `misbehaved` and `failed`. */
  readonly message: string
  /** System calls that it was refused, each kind once and at most 16 of them. */
  readonly denials: readonly Denial[]
  /** Status of `exited`, signal of `killed`, else 0. */
  readonly detail: number
  readonly queueUs: number
  /** Time in the machine, that left out for which it was parked. */
  readonly runUs: number
  /** Times that it waited for the host while its machine was parked, and for how long. */
  readonly parks: number
  readonly parkedUs: number
  /** Messages that it said to the host, and was given of the host's. */
  readonly said: number
  readonly heard: number
  /** Times that the guest left ring 3. */
  readonly exits: number
  /** What became of its machine; may end after the answer. */
  readonly reset: MachineReset
  /** Index of the worker that ran it. */
  readonly worker: number
}

/** A system call that a request was refused. */
export interface Denial {
  /** Its name in Linux. */
  readonly call: string
  readonly reason: DenialReason
  readonly times: number
}

/**
 * Why a call was refused: `call` is one that is not known, `network` and `process` what there is none of, `files`, `threads`,
 * `mappings`, `addressSpace` and `fileSpace` a limit.
 */
export type DenialReason =
  | 'call'
  | 'network'
  | 'process'
  | 'files'
  | 'threads'
  | 'mappings'
  | 'addressSpace'
  | 'fileSpace'

/** How a request runs. */
export interface SubmitOptions {
  /** Milliseconds that it may run, its wait in the queue not counted. */
  readonly timeoutMs: number
  /** Keep the program's state for the next request. */
  readonly keep?: boolean
  /**
   * Requests of a program that bear the same number are one flow, below 2 ** 24; default 0. Flows are served in turn, and one
   * whose requests are slow leaves a worker to the others.
   */
  readonly flow?: number
  /** Turns that its flow has for each turn of one of weight 1, 1 to 16; default 1. */
  readonly weight?: number
  /** The host's side of what the program says; without it a program that says something misbehaves. */
  readonly channel?: HostChannel | undefined
  /** In place of a channel: makes it when the program says something first. Until then the request counts as one without. */
  readonly lateChannel?: (() => HostChannel) | undefined
  /**
   * Told of a request that takes long, tens of milliseconds, of one that may say something: `callOff` ends it soon, as `called-off`.
   * What it gives is called when the request has ended.
   */
  readonly slow?: ((callOff: () => void) => () => void) | undefined
  /** Compare the machine with its snapshot afterwards, byte for byte; a difference is the outcome `failed`. Slow. */
  readonly check?: boolean
}
