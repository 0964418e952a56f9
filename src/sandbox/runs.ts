/** Runs: a frame to a machine, and what became of it. */
import { ClosedError, QueueFullError } from '../isolate/machines/errors.ts'
import type { RequestStream } from '../reach/streams/request_channel.ts'
import { StreamLimitError } from '../reach/streams/limits.ts'
import type { Completion, SubmitOptions } from '../isolate/machines/completion.ts'
import { boundOf, deniedOf, endingOf, streamEnding } from '../isolate/machines/outcome.ts'
import { type Remains, remainsOf } from './answer.ts'
import { QueueError, SandboxError } from './errors.ts'
import type { ResolvedLimits } from './limits.ts'
import type { ResolvedSandboxOptions } from './options.ts'
import type { Running, SandboxMachines } from './machines.ts'
import type { SandboxEvents } from './events.ts'

/** The host's side of what a program says; without one it may say nothing. */
export type Talk = Pick<SubmitOptions, 'channel' | 'lateChannel' | 'slow'>

/** A run that is to be. */
export interface Run {
  readonly running: Running
  readonly limits: ResolvedLimits
  readonly frame: Uint8Array<ArrayBuffer>
  /** Runs of one number are served in turn with those of others. */
  readonly flow: number
  /** Turns of its flow for each turn of one of weight 1. */
  readonly weight: number
  /** Name of the program, where it has one. */
  readonly name: string | undefined
  /** It has a snapshot of its own. */
  readonly warm: boolean
  readonly talk: Talk
  /** What it answers with, where that is a stream. */
  readonly stream?: (() => RequestStream | null) | undefined
  /** The next run finds the machine as this one leaves it. */
  readonly keep?: boolean | undefined
}

/** A run that is over. */
export interface Done {
  readonly completion: Completion
  readonly remains: Remains
}

/** Runs a frame. Rejects with `QueueError`, and with `SandboxError` where the sandbox is closed. */
export async function perform(
  machines: SandboxMachines,
  events: SandboxEvents,
  { queue, parked }: Pick<ResolvedSandboxOptions, 'queue' | 'parked'>,
  { running, limits, frame, flow, weight, name, warm, talk, stream, keep }: Run,
): Promise<Done> {
  const { options } = limits
  let completion: Completion
  try {
    completion = await machines.submit(running, frame, {
      timeoutMs: options.timeoutMs,
      flow,
      weight,
      ...talk,
      keep: keep ?? false,
      // What it keeps is the other runs' too.
      ...(keep ? { slow: undefined } : {}),
    })
  } catch (error) {
    if (error instanceof QueueFullError) {
      events.tell('sandbox:rejected', { name, runtime: options.runtime, limit: queue })
      throw new QueueError('Too many runs wait', { name: 'queue', value: queue }, { cause: error })
    }
    if (error instanceof ClosedError) throw new SandboxError('The sandbox is closed', { cause: error })
    throw error
  }
  const remains = remainsOf(completion, warm)
  if (completion.outcome === 'refused') {
    const { text, ...bound } = boundOf(parked, completion)
    const { name: reason, value: limit } = bound
    events.tell('sandbox:rejected', { name, runtime: options.runtime, limit, reason })
    throw new QueueError(text, bound, remains)
  }
  tell(events, limits, completion, name, warm, stream?.() ?? null)
  return { completion, remains }
}

/** Tells of a run once its machine is clean again. */
function tell(
  events: SandboxEvents,
  { options }: ResolvedLimits,
  completion: Completion,
  name: string | undefined,
  warm: boolean,
  stream: RequestStream | null,
): void {
  const { reset, outcome, denials, logDropped } = completion
  if (!events.heard && outcome === 'answered') return
  reset.whenOver(() => {
    const common = { name, runtime: options.runtime, warm }
    events.tell('sandbox:complete', {
      ...common,
      queueMicros: completion.queueUs,
      runMicros: completion.runUs,
      resetMicros: reset.us,
      dirtyPages: reset.dirtyPages,
      exits: completion.exits,
    })
    if (reset.state === 'lost') events.tell('sandbox:lost', common)
    if (denials.length > 0 || logDropped > 0) {
      for (const denied of deniedOf(options, completion)) {
        events.tell('sandbox:denied', { ...common, ...denied })
      }
    }
    const failure = stream?.failure
    const isOver = failure instanceof StreamLimitError
    // A stream that nobody reads any longer is called off.
    if (outcome === 'answered' || (outcome === 'called-off' && !isOver)) return
    const { kind, ...ending } = isOver ? streamEnding(failure) : endingOf(options, completion)
    events.tell(`sandbox:${kind}`, { ...common, ...ending })
  })
}
