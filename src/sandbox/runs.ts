/** Runs: a frame to a machine, and what became of it. */
import { ClosedError, QueueFullError } from '../isolate/machines/errors.ts'
import type { Completion } from '../isolate/machines/completion.ts'
import type { HostChannel } from '../isolate/machines/host_channel.ts'
import { deniedOf, endingOf } from '../isolate/machines/outcome.ts'
import { type Remains, remainsOf } from './answer.ts'
import { QueueError, SandboxError } from './errors.ts'
import type { ResolvedLimits } from './limits.ts'
import type { Running, SandboxMachines } from './machines.ts'
import type { SandboxEvents } from './events.ts'

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
  /** The host's side of what the program says; without one it may say nothing. */
  readonly channel?: HostChannel | undefined
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
  queue: number,
  { running, limits, frame, flow, weight, name, warm, channel, keep }: Run,
): Promise<Done> {
  const { options } = limits
  let completion: Completion
  try {
    completion = await machines.submit(running, frame, {
      timeoutMs: options.timeoutMs,
      flow,
      weight,
      channel,
      keep: keep ?? false,
    })
  } catch (error) {
    if (error instanceof QueueFullError) {
      events.tell('sandbox:rejected', { name, runtime: options.runtime, limit: queue })
      throw new QueueError('Too many runs wait', { name: 'queue', value: queue }, { cause: error })
    }
    if (error instanceof ClosedError) throw new SandboxError('The sandbox is closed', { cause: error })
    throw error
  }
  tell(events, limits, completion, name, warm)
  return { completion, remains: remainsOf(completion, warm) }
}

/** Tells of a run once its machine is clean again. */
function tell(
  events: SandboxEvents,
  { options }: ResolvedLimits,
  completion: Completion,
  name: string | undefined,
  warm: boolean,
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
    if (outcome === 'answered') return
    const { kind, ...ending } = endingOf(options, completion)
    events.tell(`sandbox:${kind}`, { ...common, ...ending })
  })
}
