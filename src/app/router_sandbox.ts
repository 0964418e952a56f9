/** The sandbox of a router: its programs run in the machines of the isolated routes, and share their queue and memory. */
import { resolveParked } from '../isolate/machines/machines.ts'
import { openKeptMachines } from '../sandbox/kept_programs.ts'
import { Sandbox } from '../sandbox/sandbox.ts'
import { SandboxEvents } from '../sandbox/events.ts'
import { resolveSandboxOptions } from '../sandbox/options.ts'
import { toLimits } from '../sandbox/limits.ts'
import type { App } from './app.ts'
import { openSharedMachines } from './isolated/mod.ts'

/** The app's sandbox, made at its first use. Machines open with its first run. */
export function sandboxOf(app: App): Sandbox {
  return app.sandbox ??= createSandbox(app)
}

function createSandbox(app: App): Sandbox {
  const {
    runtime,
    vms,
    queue,
    parked,
    memoryBudgetMb,
    cacheDir: _folder,
    cacheMb: _most,
    bindings: _bindings,
    warmupAnswers: _answers,
    outbound: _outbound,
    ...defaults
  } = app.options.isolate || {}
  return new Sandbox({
    options: resolveSandboxOptions({
      runtime,
      vms,
      queue,
      parked,
      memoryBudgetMb,
      limits: toLimits(defaults),
      maxBodyBytes: app.options.maxBodyBytes,
    }),
    open: async () => {
      await app.getReady()
      return await openSharedMachines(app)
    },
    openKept: () => openKeptMachines(queue ?? 1024, resolveParked(parked)),
    events: new SandboxEvents(app.bus),
    own: false,
  })
}

/** Ends the app's sandbox after its runs; the next use makes another. */
export async function closeSandbox(app: App): Promise<void> {
  const { sandbox } = app
  app.sandbox = null
  await sandbox?.close()
}
