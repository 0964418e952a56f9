/** Machines that answer at once, as a script says, in place of real ones. */
import { MachineReset } from '../../src/isolate/machines/machine_reset.ts'
import type { Completion } from '../../src/isolate/machines/completion.ts'
import type { BootedProgram, Machines } from '../../src/isolate/machines/machines.ts'
import type { Program } from '../../src/isolate/plan/program.ts'
import type { HandlerTrial } from '../../src/isolate/machines/trial.ts'
import { makeFrame, RESPONSE } from '../../src/isolate/wire/wire.ts'

const NONE = new Uint8Array(0)

/** Their answer is `done` with status 200, and what `script` makes of it; never for `?ms=for-ever`. */
export class ScriptedMachines implements Machines {
  readonly boundary = 'vm'
  readonly #script: () => Partial<Completion>
  readonly #trials: readonly HandlerTrial[]

  constructor(script: () => Partial<Completion> = () => ({}), trials: readonly HandlerTrial[] = []) {
    this.#script = script
    this.#trials = trials
  }

  whileStarting(starts: () => Promise<void>): Promise<void> {
    return starts()
  }

  boot(plan: Program): Promise<BootedProgram> {
    const handlers = plan.handlers.map(({ route }) => ({ name: route.file }))
    return Promise.resolve({ description: toFrame({ handlers }), bootMs: 1, trials: this.#trials })
  }

  submit(_program: BootedProgram, frame: Uint8Array<ArrayBuffer>): Promise<Completion> {
    if (new TextDecoder().decode(frame).includes('for-ever')) return new Promise(() => {})
    return Promise.resolve({
      outcome: 'answered',
      frame: toFrame({ status: 200, headers: [] }, 'done'),
      log: NONE,
      logDropped: 0,
      message: '',
      denials: [],
      detail: 0,
      queueUs: 0,
      runUs: 1,
      parks: 0,
      parkedUs: 0,
      said: 0,
      heard: 0,
      exits: 1,
      reset: new MachineReset('clean', 1, 1),
      worker: 0,
      ...this.#script(),
    })
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  retire(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** A frame of a guest's. */
export function toFrame(head: object, body = ''): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  return makeFrame(RESPONSE, encoder.encode(JSON.stringify(head)), encoder.encode(body))
}
