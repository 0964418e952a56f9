/** How isolated routes begin and end with their app. */
import { resolve } from '@std/path'
import type { Readings } from '../../compiler/readings.ts'
import { KeptReadings } from '../../isolate/bundle/kept_readings.ts'
import { openVirtualMachines } from '../../isolate/boot/virtual_machines.ts'
import { closeIsolation } from '../../isolate/isolation.ts'
import { closeRecorder, createRecorder } from '../../isolate/warm/warmup_recorder.ts'
import { StartupError } from '../../errors/startup_error.ts'
import type { App } from '../app.ts'
import type { ResolvedOptions } from '../options.ts'
import { toRouterReach } from './reach.ts'
import { createIsolatedRoutes, type IsolatedRoutes } from './state.ts'

/** Longest wait of a client's request for the start of its program, in milliseconds. */
const START_WAIT_MS = 10_000
/** Pause before the first new attempt to open machines, in milliseconds. */
const RETRY_PAUSE_MS = 1000

/** The isolated routes of a new app. Throws `TypeError` or `RangeError` for wrong bindings. */
export function newIsolatedRoutes({ isolate }: ResolvedOptions): IsolatedRoutes {
  return createIsolatedRoutes({
    reach: toRouterReach(isolate),
    openMachines: openVirtualMachines,
    startWaitMs: START_WAIT_MS,
    retryPauseMs: RETRY_PAUSE_MS,
  })
}

/** Begins to write warm-up requests down, where that was asked for. */
export function openRecorder(app: App): void {
  const { isolated, options: { isolate } } = app
  if (isolate === false || isolate?.recordWarmup !== true) return
  if (!app.development) {
    throw new StartupError(
      'Cannot record warm-up requests: isolate.recordWarmup is true in production, want it in development only, ' +
        'as what users send must not come into a snapshot',
    )
  }
  isolated.recorder ??= createRecorder()
  isolated.recorder.tell(
    'mayfly: records requests of isolated routes, of each shape one, in NAME.warmup.json beside the route',
  )
}

/** What an earlier start read of route files; undefined where nothing is kept. */
export async function openReadings({ isolated, options }: App): Promise<Readings | undefined> {
  const { isolate, routesDir } = options
  if (isolate === false || isolate?.cacheDir === undefined) return undefined
  isolated.readings = await KeptReadings.open(isolate.cacheDir, resolve(routesDir))
  return isolated.readings ?? undefined
}

/** Ends the machines, a build that nobody needs any more, and the recording. */
export async function closeIsolated(app: App): Promise<void> {
  const { isolated } = app
  isolated.stop.abort()
  isolated.line.drop()
  await isolated.again
  await isolated.work
  await isolated.comparison
  if (isolated.isolation !== null) await closeIsolation(isolated.isolation)
  if (isolated.recorder !== null) await closeRecorder(isolated.recorder)
  app.isolated = createIsolatedRoutes(isolated)
}
