import {
  type LifecycleEvent,
  type ListenAddress,
  Router,
  type RouterOptions,
  type ServeOptions,
} from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { setEnvironment } from '../environment.ts'
import { listen } from '../listening.ts'

/** A folder of the fixture. */
export function fixture(name: string): string {
  return fromFileUrl(new URL(`./fixture/${name}`, import.meta.url))
}

/** What a test file asks of its site. */
export interface SiteOptions extends RouterOptions {
  /** Adds middleware, static folders and hooks. */
  setup?: (router: Router) => void
  /** DENO_ENV while the site starts. Default `production`. */
  environment?: 'production' | 'development'
  /** Where to listen. Default: a free port of 127.0.0.1. */
  serve?: ServeOptions
}

/** A running site. */
export interface Site {
  readonly router: Router
  readonly address: ListenAddress
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Errors of the requests so far, as the events tell them. */
  readonly errors: unknown[]
  /** Shuts down and waits until all is released. */
  close(): Promise<void>
}

/** A site that starts when a test first asks for it, and ends with the file's tests. */
export function defineSite(options: SiteOptions = {}): () => Promise<Site> {
  let running: Promise<Site> | undefined
  Deno.test.afterAll(async () => {
    if (running !== undefined) await (await running).close()
  })
  return () => running ??= startSite(options)
}

/** Serves the fixture, or what the options name, in this process. */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  const { setup, environment = 'production', serve, ...routerOptions } = options
  using _environment = setEnvironment({ DENO_ENV: environment })
  const router = new Router({
    // What machines answer is tested in tests/isolated.
    isolate: false,
    routesDir: fixture('routes'),
    viewsDir: fixture('views'),
    hotReload: false,
    drainMs: 200,
    ...routerOptions,
  })
  const errors: unknown[] = []
  router.on('request:error', (event: LifecycleEvent<'request:error'>) => {
    errors.push(event.metadata.error)
  })
  // Two files of the fixture are broken on purpose.
  router.on('route:error', () => {})
  setup?.(router)
  const { address, origin, close } = await listen((options) => router.serve(options), serve)
  return { router, address, origin, errors, close }
}
