import { emit, wants } from '../../events/bus.ts'
import type { EventBus } from '../../events/bus.ts'
import type { IsolateMetadata } from '../../events/kinds.ts'
import type { IsolationHooks } from '../../isolate/isolation.ts'
import type { Completion } from '../../isolate/machines/completion.ts'
import { describeMissing } from '../../isolate/core/missing_in_core.ts'
import { nameHandler, type Program } from '../../isolate/plan/program.ts'
import { describeShape } from '../../isolate/warm/request_shape.ts'

/** Makes events of what the isolation reports. */
export function toHooks(bus: EventBus): IsolationHooks {
  return {
    boot: (program) => emit(bus, 'isolate:boot', nameOf(program)),
    missing: (program) => {
      const { files, bundle: { missing } } = program
      emit(bus, 'isolate:missing', {
        ...nameOf(program),
        missing: missing.map(({ global, file, line }) => ({ global, file, line })),
      })
      for (const line of describeMissing(missing, files)) console.error(`mayfly: ${line}`)
    },
    ready: (program, how) => emit(bus, 'isolate:ready', { ...nameOf(program), ...how }),
    dropped: (program) => emit(bus, 'isolate:drop', { ...nameOf(program), reason: 'memoryBudgetMb' }),
    refused: (program, reason) => {
      emit(bus, 'isolate:stale', { ...nameOf(program), reason })
      console.error(
        `mayfly: ${program.files.join(', ')}: a snapshot in isolate.cacheDir is made anew: ${reason}`,
      )
    },
    residue: (program, handlers) => {
      emit(bus, 'isolate:residue', { ...nameOf(program), handlers })
      if (handlers.length > 0) tellResidue(handlers)
    },
    unsettled: (program, { handler, shape, warmUs, runUs }) => {
      const name = nameHandler(program, handler)
      emit(bus, 'isolate:unsettled', {
        ...nameOf(program),
        handler: name,
        warmMicros: warmUs,
        trialMicros: runUs,
      })
      console.error(
        `mayfly: ${name} is not warm: ${shape} took ${toMs(warmUs)} at the end of its warm-up and ${
          toMs(runUs)
        } ` +
          `after the snapshot; ${ADVICE}`,
      )
    },
    cold: (program, handler, { shape, runUs, trialUs }) => {
      const name = nameHandler(program, handler)
      const figures = { runMicros: runUs, trialMicros: trialUs, shape }
      emit(bus, 'isolate:cold', { ...nameOf(program), handler: name, ...figures })
      console.error(
        `mayfly: ${name} is slow for ${describeShape(shape)}: ${toMs(runUs)} at best, ${
          toMs(trialUs)
        } in its trial; ${ADVICE}`,
      )
    },
    rejected: (program, limit, reason) =>
      emit(bus, 'isolate:rejected', {
        ...nameOf(program),
        limit,
        ...(reason === undefined ? {} : { reason }),
      }),
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

/** What to do about a handler that is not warm for what it is asked. */
const ADVICE =
  'give it requests like the real ones as its warmup: isolate.recordWarmup writes them down in development'

function toMs(us: number): string {
  return `${(us / 1000).toPrecision(2)} ms`
}

/** A fresh machine and a warm one gave one request different answers. */
function tellResidue(handlers: readonly string[]): void {
  console.error(
    `mayfly: ${handlers.join(', ')}: the answers show what the warm-up's requests left in the module; ` +
      'export function beforeSnapshot() from the file, and take it back there',
  )
}

function toMetadata(program: Program, completion: Completion): IsolateMetadata {
  const { worker, queueUs, runUs, exits, reset } = completion
  return {
    ...nameOf(program),
    vm: worker,
    queueMicros: queueUs,
    runMicros: runUs,
    resetMicros: reset.us,
    exits,
    dirtyPages: reset.dirtyPages,
  }
}

function nameOf({ id, options: { runtime } }: Program): Pick<IsolateMetadata, 'program' | 'runtime'> {
  return { program: id, runtime }
}
