import { emit, wants } from '../events/bus.ts'
import type { EventBus } from '../events/bus.ts'
import type { IsolationHooks } from '../isolate/isolation.ts'

/** Makes events of what the isolation tells. */
export function toHooks(bus: EventBus): IsolationHooks {
  return {
    boot: (program) => emit(bus, 'isolate:boot', { program }),
    ready: (program, how) => emit(bus, 'isolate:ready', { program, ...how }),
    rejected: (program, limit) => emit(bus, 'isolate:rejected', { program, limit }),
    complete: (program, completion) => {
      const kind = COMPLETION_KINDS[completion.outcome] ?? 'isolate:crash'
      if (!wants(bus, kind) && !wants(bus, 'isolate:complete')) return
      const { worker, queueUs, runUs, resetUs, exits, dirtyPages, message } = completion
      const metadata = {
        program,
        vm: worker,
        queueMicros: queueUs,
        runMicros: runUs,
        resetMicros: resetUs,
        exits,
        dirtyPages,
        ...(message === '' ? {} : { reason: message }),
      }
      emit(bus, 'isolate:complete', metadata)
      if (kind !== 'isolate:complete') emit(bus, kind, metadata)
    },
  }
}

const COMPLETION_KINDS: Readonly<
  Record<string, 'isolate:complete' | 'isolate:timeout' | 'isolate:memory' | undefined>
> = {
  answered: 'isolate:complete',
  timeout: 'isolate:timeout',
  stuck: 'isolate:timeout',
  memory: 'isolate:memory',
}
