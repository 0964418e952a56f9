import type { PeerInfo } from '../context/state.ts'
import type { ErrorHandler, Middleware } from '../context/types.ts'
import { blameCaller } from '../errors/blame.ts'
import type { EventPattern } from '../events/bus.ts'
import { subscribe } from '../events/bus.ts'
import type { LifecycleEvent, LifecycleKind, LifecycleListener } from '../events/kinds.ts'
import { compileGuard } from '../router/match/guard.ts'
import { type RouteRow, routeRows } from '../router/load/table.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ServeOptions } from '../server/listen.ts'
import { createStaticMount, sortMounts } from '../static/mount.ts'
import type { StaticSource } from '../static/options.ts'
import type { Tenants } from '../tenants/tenants.ts'
import type { App } from './app.ts'
import { closeApp, createApp, prepareApp } from './lifecycle.ts'
import type { RouterOptions } from './options.ts'
import { resolveOptions } from './options.ts'
import { handle } from './pipeline.ts'
import { sandboxOf } from './router_sandbox.ts'
import { serveApp } from './serve.ts'

/** Kinds that a pattern such as `route:*` stands for. */
export type KindsOf<P extends string> = P extends LifecycleKind ? P
  : P extends `${infer Namespace}:*` ? Extract<LifecycleKind, `${Namespace}:${string}`>
  : LifecycleKind

/**
 * A site: routes from files, around them middleware, static files and views.
 *
 * ```ts
 * import { Router } from '@mayfly/mayfly'
 *
 * const router = new Router({ routesDir: 'routes' })
 * await router.serve(8000)
 * ```
 */
export class Router {
  readonly #app: App
  #ready: Promise<void> | undefined

  /**
   * Answers a request through the whole pipeline, without a socket; never rejects but for a folder of routes that cannot
   * be read. The routes are read at the first call. Works unbound.
   */
  readonly fetch: (request: Request, info?: PeerInfo) => Promise<Response>

  /** Checks the options, all at once; touches neither disk nor network. Throws `TypeError` or `RangeError`. */
  constructor(options: RouterOptions = {}) {
    this.#app = blameCaller(Router, () => createApp(resolveOptions(options)))
    this.#app.getReady = () => this.ready()
    this.fetch = async (request, info) => {
      await this.ready()
      return handle(this.#app, request, info)
    }
  }

  /** Reads the routes, once. Rejects with `StartupError` when they cannot be served; a later call tries again. */
  ready(): Promise<void> {
    return this.#ready ??= prepareApp(this.#app, false).catch((error) => {
      this.#ready = undefined
      throw error
    })
  }

  /**
   * Adds middleware around every request, or around `path` and everything below it (`/admin`, `/admin/` and `/admin/**`
   * are the same), in the order of the calls. Throws `TypeError` for a path that could never match.
   */
  use(...middleware: Middleware[]): this
  use(path: string, ...middleware: Middleware[]): this
  use(first: string | Middleware, ...rest: Middleware[]): this {
    return blameCaller(this.use, () => {
      const covers = typeof first === 'string' ? compileGuard(first) : null
      const added = typeof first === 'string' ? rest : [first, ...rest]
      for (const run of added) {
        if (typeof run !== 'function') {
          throw new TypeError(`Cannot use middleware: it is ${Deno.inspect(run)}, want a function`)
        }
        this.#app.middleware.push({ covers, run })
      }
      return this
    })
  }

  /**
   * Serves the files of a folder below `prefix`, for paths that no route matches; the longest prefix is asked first. A
   * function picks the folder, or the response, for each request. Throws `TypeError` or `RangeError` for what cannot be meant.
   */
  static(prefix: string, source: StaticSource): this {
    const mount = blameCaller(this.static, () => createStaticMount(prefix, source))
    this.#app.statics = sortMounts([...this.#app.statics, mount])
    return this
  }

  /** Listens to every event, one kind or one namespace (`route:*`). Gives a function that stops it, safe to call twice. */
  on(listener: LifecycleListener): () => void
  on<P extends EventPattern>(
    pattern: P,
    listener: (event: LifecycleEvent<KindsOf<P>>) => void | Promise<void>,
  ): () => void
  on(first: EventPattern | LifecycleListener, second?: LifecycleListener): () => void {
    return blameCaller(
      this.on,
      () =>
        typeof first === 'function'
          ? subscribe(this.#app.bus, '*', first)
          : subscribe(this.#app.bus, first, second as LifecycleListener),
    )
  }

  /** Sets the error hook, asked after the folders' `_error.ts`. When it throws, the default page keeps the status. */
  catch(hook: ErrorHandler): this {
    if (typeof hook !== 'function') {
      throw new TypeError(`Cannot catch errors: the hook is ${Deno.inspect(hook)}, want a function`)
    }
    this.#app.errorHook = hook
    return this
  }

  /** One row for each method of each route, sorted by pattern, then method. Empty until the routes have been read. */
  routes(): RouteRow[] {
    return routeRows(this.#app.routes.table.routes)
  }

  /**
   * Serves until `signal`, SIGINT, SIGTERM or SIGHUP, and resolves once accepted requests have been answered. Rejects with
   * `StartupError` when it cannot start, with `TypeError` when it serves already.
   */
  serve(options?: number | ServeOptions): Promise<void> {
    return serveApp(this.#app, options)
  }

  /**
   * Runs code that arrives at runtime, in the machines of the isolated routes: it shares their number, queue and memory budget, and the
   * limits of `isolate` are its defaults. Machines open with the first run, which rejects where there can be none. It ends with the router.
   */
  get sandbox(): Sandbox {
    return sandboxOf(this.#app)
  }

  /** The tenants of the option `tenants`: who there is, what each used, and how to reload one. Throws `TypeError` without that option. */
  get tenants(): Tenants {
    const { tenants } = this.#app
    if (tenants !== null) return tenants
    throw new TypeError('Cannot use tenants: the router has none, want Router({ tenants })')
  }

  /** Stops workers and watchers; for a router that was used through `fetch`. */
  async close(): Promise<void> {
    const ready = this.#ready
    this.#ready = undefined
    // What reads the routes now would start the machines afterwards.
    await ready?.catch(() => {})
    await closeApp(this.#app)
  }

  /** `await using router = new Router()` closes it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
