import type { PlainJsx } from './plain_jsx.ts'
import type { ContextHost } from '../context/state.ts'
import type { ErrorHandler, Middleware } from '../context/types.ts'
import type { Engine } from '../dve/mod.ts'
import type { EventBus } from '../events/bus.ts'
import type { RouteTable } from '../router/load/load.ts'
import type { Tree } from '../router/match/tree.ts'
import type { HotReload } from '../router/reload/watch.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { StaticMount } from '../static/mount.ts'
import type { Tenants } from '../tenants/tenants.ts'
import type { WorkerPool } from '../worker/pool.ts'
import type { LiveReload } from './development/live_reload.ts'
import type { Deadlines } from './deadlines.ts'
import type { Endpoint } from './endpoint.ts'
import type { FaultLog } from './fault_log.ts'
import type { IsolatedRoutes } from './isolated/state.ts'
import type { ResolvedOptions } from './options.ts'

/** Middleware of `router.use`, with the test for its path; null covers every request. */
export interface ScopedMiddleware {
  readonly covers: ((pathname: string) => boolean) | null
  readonly run: Middleware
}

/** The routes as they stand: replaced as a whole when a file changes. */
export interface Routes {
  readonly table: RouteTable
  readonly tree: Tree<Endpoint>
  /** Error handlers by folder, innermost first, for paths that no route matches. */
  readonly errors: Tree<readonly ErrorHandler[]>
}

/** A file with something that is not served. */
export interface SkippedFile {
  readonly pattern: string
  readonly reasons: readonly string[]
}

/** What a router is made of. */
export interface App {
  readonly options: ResolvedOptions
  readonly bus: EventBus
  /** True while somebody listens to requests. */
  observed: boolean
  readonly host: ContextHost
  readonly middleware: ScopedMiddleware[]
  /** Longest prefix first. */
  statics: readonly StaticMount[]
  errorHook: ErrorHandler | undefined
  readonly deadlines: Deadlines
  /** Undefined without `viewsDir`. */
  readonly engine: Engine | undefined
  /** Show stacks to the client. */
  development: boolean
  /** In development the real path of the routes' project, whose sources the error page may show; else null. */
  project: string | null
  /** True from the start of `serve` to its end. */
  serving: boolean
  /** True once the time to drain is over. */
  closing: boolean
  /** Errors of streams that have been reported, so that the server does not report them again. */
  readonly told: WeakSet<object>
  /** Faults on stderr, each once. */
  readonly faults: FaultLog
  /** Why the routes as a whole could not be loaded again, as it was reported. */
  routesFault: string | undefined
  /** Files with something that is not served, and why; for the answers of development. */
  readonly skipped: Map<string, SkippedFile>
  routes: Routes
  /** Made when the router gets ready, ended by close. */
  pool: WorkerPool | undefined
  isolated: IsolatedRoutes
  /** Reads the routes; the router's. */
  getReady: () => Promise<void>
  /** Code that arrives at runtime, in the same machines; null until somebody asks for it. */
  sandbox: Sandbox | null
  /** Sites by host; null without the option. */
  readonly tenants: Tenants | null
  /** Compiles the JSX of plain routes where Deno's configuration does not say how. */
  plainJsx: PlainJsx | null
  /** Watches the files, while it serves in development. */
  hotReload: HotReload | undefined
  /** Loads pages again after a save, while files are watched in development; else null. */
  liveReload: LiveReload | null
}
