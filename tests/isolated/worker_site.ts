/** Apps whose machines cannot open, as on a host without KVM: the opener is replaced, and what is told is kept. */
import type { LifecycleEvent, Middleware, RouterOptions } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import type { App } from '../../src/app/app.ts'
import type { IsolatedRoutes } from '../../src/app/isolated/state.ts'
import { closeApp, createApp, prepareApp } from '../../src/app/lifecycle.ts'
import { resolveOptions } from '../../src/app/options.ts'
import { handle } from '../../src/app/pipeline.ts'
import { serveApp } from '../../src/app/serve.ts'
import { subscribe } from '../../src/events/bus.ts'
import { IsolationUnavailableError } from '../../src/isolate/machines/errors.ts'
import type { Answer } from './fixture.ts'
import { listen } from '../listening.ts'

/** What the opener says here. */
export const NO_KVM = '/dev/kvm does not exist: ask for it'

/** An app without virtual machines. */
export interface WorkerSite {
  readonly app: App
  readonly events: LifecycleEvent[]
  ask(path: string, init?: RequestInit): Promise<Answer>
  close(): Promise<void>
}

export interface WorkerSiteOptions extends RouterOptions {
  readonly middleware?: Middleware
  /** Default: rejects, as without KVM. */
  readonly openMachines?: IsolatedRoutes['openMachines']
  readonly startWaitMs?: number
  readonly retryPauseMs?: number
}

/** An app over a folder, by its path or below `routes/`; with one process at a time unless told. */
export function createWorkerSite(folder: string, options: WorkerSiteOptions = {}): WorkerSite {
  const { middleware, openMachines, startWaitMs, retryPauseMs, ...router } = options
  const app = createApp(resolveOptions({
    routesDir: folder.startsWith('/') ? folder : fromFileUrl(new URL(`./routes/${folder}`, import.meta.url)),
    viewsDir: fromFileUrl(new URL('./views', import.meta.url)),
    hotReload: false,
    isolate: { vms: 1, onUnavailable: 'worker' },
    ...router,
  }))
  app.isolated.openMachines = openMachines ?? (() => Promise.reject(new IsolationUnavailableError(NO_KVM)))
  if (startWaitMs !== undefined) app.isolated.startWaitMs = startWaitMs
  if (retryPauseMs !== undefined) app.isolated.retryPauseMs = retryPauseMs
  if (middleware !== undefined) app.middleware.push({ covers: null, run: middleware })
  const events: LifecycleEvent[] = []
  subscribe(app.bus, '*', (event) => void events.push(event))
  let ready: Promise<void> | undefined
  return {
    app,
    events,
    async ask(path, init) {
      await (ready ??= prepareApp(app, false))
      const response = await handle(app, new Request(`http://localhost${path}`, init), undefined)
      return { status: response.status, text: await response.text(), headers: response.headers }
    },
    async close() {
      await closeApp(app)
      ready = undefined
    },
  }
}

/** Serves an app on a free port while `run` runs. */
export async function withServer(site: WorkerSite, run: (origin: string) => Promise<void>): Promise<void> {
  await using server = await listen((options) => serveApp(site.app, options))
  await run(server.origin)
}

/** What is written to the console as errors while `run` runs. */
export async function errorsOf(run: () => Promise<void>): Promise<string[]> {
  const { error } = console
  const lines: string[] = []
  console.error = (...args: unknown[]) => void lines.push(args.map(String).join(' '))
  try {
    await run()
  } finally {
    console.error = error
  }
  return lines
}

/** The `type` of a problem, asked for as JSON. */
export async function problemIn(site: Pick<WorkerSite, 'ask'>, path: string) {
  const { status, text, headers } = await site.ask(path, { headers: { accept: 'application/problem+json' } })
  return { status, type: (JSON.parse(text) as { type?: unknown }).type, headers }
}

/** What an `isolate:unavailable` says. */
export function toUnavailable(event: LifecycleEvent): { message: string; instead: string } | null {
  if (event.kind !== 'isolate:unavailable') return null
  const { error, instead } = event.metadata
  return { message: error.message, instead }
}
