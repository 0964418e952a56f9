import { emit, wants } from '../events/bus.ts'
import type { EventBus } from '../events/bus.ts'
import type { IsolateMetadata } from '../events/kinds.ts'
import type { IsolationHooks } from '../isolate/isolation.ts'
import type { Completion } from '../isolate/machines.ts'

/** Makes events of what the isolation tells. */
export function toHooks(bus: EventBus): IsolationHooks {
  return {
    boot: (program) => emit(bus, 'isolate:boot', { program }),
    ready: (program, how) => emit(bus, 'isolate:ready', { program, ...how }),
    rejected: (program, limit) => emit(bus, 'isolate:rejected', { program, limit }),
    complete: (program, completion) => {
      if (!wants(bus, 'isolate:complete')) return
      const { message } = completion
      const metadata = toMetadata(program, completion)
      emit(bus, 'isolate:complete', message === '' ? metadata : { ...metadata, reason: message })
    },
    lost: (program, completion) => {
      if (wants(bus, 'isolate:lost')) emit(bus, 'isolate:lost', toMetadata(program, completion))
    },
    ended: (program, completion, { kind, ...why }) => {
      const event = `isolate:${kind}` as const
      if (wants(bus, event)) emit(bus, event, { ...toMetadata(program, completion), ...why })
    },
    denied: (program, completion, denied) => {
      if (!wants(bus, 'isolate:denied')) return
      emit(bus, 'isolate:denied', { ...toMetadata(program, completion), ...denied })
    },
  }
}

function toMetadata(program: string, completion: Completion): IsolateMetadata {
  const { worker, queueUs, runUs, exits, reset } = completion
  return {
    program,
    vm: worker,
    queueMicros: queueUs,
    runMicros: runUs,
    resetMicros: reset.us,
    exits,
    dirtyPages: reset.dirtyPages,
  }
}
