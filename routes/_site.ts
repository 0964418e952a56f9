/** The example site: `deno task start` serves it, its tests call `createSite` and use the router without a socket. */
import { fromFileUrl } from '@std/path'
import {
  bodyLimit,
  compress,
  csrf,
  Engine,
  HttpError,
  type LifecycleEvent,
  requestId,
  Router,
  type RouterOptions,
  securityHeaders,
  serverTiming,
  session,
} from '@mayfly/mayfly'
import type { Sandbox } from '@mayfly/mayfly/sandbox'
import { assetVersion } from './_lib/assets.ts'
import { errorPage } from './_lib/error_page.ts'
import { createFeed, record } from './_lib/feed.ts'
import { createGuestbook } from './_lib/guestbook.ts'
import { createIsolation, recordIsolation } from './_lib/isolation.ts'
import { createPlayground } from './_lib/playground/attempt.ts'
import { createEditor } from './_lib/playground/editor.ts'
import { createBindings } from './_lib/reach/bindings.ts'
import { type Neighbour, openNeighbour } from './_lib/reach/neighbour.ts'
import type { Site } from './_lib/site.ts'
import { toTenants } from './_lib/tenants/tenants.ts'

/** Options of {@linkcode createSite}. */
export interface SiteOptions {
  /** Errors without stacks, assets that are read once, no hot reload. Default: unless DENO_ENV is `development`. */
  readonly production?: boolean
  /** Signs sessions and CSRF tokens, at least 32 characters. Default: random, so that they end with the process. */
  readonly secret?: string
  /** Cookies only over HTTPS. Default false: the site speaks plain HTTP unless a proxy or `cert` says otherwise. */
  readonly secureCookies?: boolean
  /** Proxies in front of the site, as the router takes them: limits by address count the addresses that they name. */
  readonly trustProxy?: RouterOptions['trustProxy']
  /**
   * False: no virtual machines, isolated routes answer 503. `worker`: worker processes where no machine can run. Default: machines
   * where there are KVM and cargo, else 503.
   */
  readonly isolate?: false | 'worker'
  /** Write requests of isolated routes down, for their warm-up; in development only. Default false. */
  readonly recordWarmup?: boolean
  /** Keeps the snapshots of isolated routes, which a later start goes on from. Default none. */
  readonly cacheDir?: string | undefined
  /** Tenants have hosts below it, `acme.DOMAIN`. Default `localhost`. */
  readonly domain?: string
  /** The second server, which isolated routes may ask; whoever opened it closes it. Default none: they may ask nobody. */
  readonly neighbour?: Pick<Neighbour, 'origin' | 'outbound'>
}

/** No inline script or style counts without the nonce, which the playground's editor has. Mayfly's own page for developers brings its style with it. */
function policyOf(production: boolean): string {
  return [
    `default-src 'none'`,
    `base-uri 'none'`,
    `connect-src 'self'`,
    `form-action 'self'`,
    `frame-ancestors 'self'`,
    `img-src 'self' data:`,
    `script-src 'nonce-{nonce}'`,
    `style-src 'self' ${production ? "'nonce-{nonce}'" : "'unsafe-inline'"}`,
  ].join('; ')
}

/** Builds the site's router: views, middleware, assets and the pool. Reads nothing and starts nothing yet. */
export function createSite(options: SiteOptions = {}): Router {
  const production = options.production ?? isProduction()
  const secret = options.secret ?? crypto.randomUUID() + crypto.randomUUID()
  const secure = options.secureCookies ?? false
  const root = new URL('../', import.meta.url)
  const feed = createFeed()
  const domain = options.domain ?? 'localhost'

  const router: Router = new Router({
    routesDir: fromFileUrl(new URL('routes', root)),
    viewsDir: fromFileUrl(new URL('views', root)),
    hotReload: !production,
    isolate: toIsolate(options, () => router.sandbox),
    ...(options.trustProxy === undefined ? {} : { trustProxy: options.trustProxy }),
    tenants: toTenants(domain, production),
    worker: {
      scriptURL: new URL('./_workers/cpu.ts', import.meta.url),
      poolSize: 2,
      maxQueueDepth: 8,
    },
  })

  const site: Site = {
    root,
    production,
    version: '0.1.0',
    startedAt: Date.now(),
    feed,
    guestbook: createGuestbook(),
    isolation: createIsolation(options.isolate === false),
    sources: new Map(),
    templates: new Engine({
      viewsDir: fromFileUrl(new URL('views/draft', root)),
      limits: {
        maxIterations: 1000,
        maxRenderIterations: 3000,
        maxOutputSize: 20_000,
        maxTemplateSize: 4000,
      },
    }),
    playground: createPlayground(() => router.sandbox),
    editor: createEditor(),
    neighbour: options.neighbour?.origin,
    domain,
    fetch: (request, peer) => router.fetch(request, peer),
    routes: () => router.routes(),
    assets: assetVersion(new URL('./_public/', import.meta.url), production),
    toJSON: () => undefined,
  }

  router.on((event) => listen(site, event))
  router.use((ctx, next) => {
    ctx.state.site = site
    return next()
  })
  router.use(
    requestId(),
    serverTiming(),
    securityHeaders({ contentSecurityPolicy: policyOf(production) }),
    compress(),
  )
  router.use('/templates', bodyLimit({ limit: 32 * 1024 }))
  router.use('/guestbook', session({ cookieSecret: secret, secure }), csrf({ cookieSecret: secret, secure }))
  router.static('/assets', {
    dir: fromFileUrl(new URL('./_public', import.meta.url)),
    immutable: production,
  })
  router.catch(errorPage)
  return router
}

function toIsolate(
  { isolate, recordWarmup, cacheDir, neighbour }: SiteOptions,
  sandbox: () => Sandbox,
): RouterOptions['isolate'] {
  if (isolate === false) return false
  return {
    onUnavailable: isolate,
    recordWarmup,
    cacheDir,
    bindings: createBindings(sandbox),
    outbound: neighbour?.outbound ?? { allow: [] },
  }
}

/** Feeds the pages; errors that nobody foresaw go to stderr, as they would without a listener. */
function listen(site: Site, event: LifecycleEvent): void {
  record(site.feed, event)
  recordIsolation(site.isolation, event)
  if (event.kind === 'route:error' || event.kind === 'reload:error' || event.kind === 'tenant:refused') {
    console.error(event.metadata.error)
  }
  if (event.kind !== 'request:error') return
  const { method, url, status, error } = event.metadata
  if (error !== undefined && !(error instanceof HttpError)) {
    console.error(`${method} ${url} ${status}\n`, error)
  }
}

/** `2`: that many proxies; `10.0.0.0/8,::1`: their addresses. */
function toTrust(proxies: string | undefined): Pick<SiteOptions, 'trustProxy'> {
  if (proxies === undefined || proxies === '') return {}
  return { trustProxy: /^\d+$/.test(proxies) ? Number(proxies) : proxies.split(',') }
}

function isProduction(): boolean {
  return Deno.env.get('DENO_ENV') !== 'development'
}

if (import.meta.main) {
  await using neighbour = openNeighbour()
  const router = createSite({
    secret: Deno.env.get('SITE_SECRET'),
    secureCookies: Deno.env.get('SITE_HTTPS') === '1',
    ...toTrust(Deno.env.get('SITE_PROXIES')),
    ...(Deno.env.get('SITE_WORKERS') === '1' ? { isolate: 'worker' } : {}),
    recordWarmup: Deno.args.includes('--record-warmup'),
    domain: Deno.env.get('SITE_DOMAIN'),
    cacheDir: Deno.env.get('SITE_CACHE') || undefined,
    neighbour,
  })
  await router.serve({
    onListen: ({ hostname, port }) => {
      console.log(`Mayfly's example site: http://${hostname === '0.0.0.0' ? 'localhost' : hostname}:${port}/`)
    },
  })
}
