/** The tenants of the example: sites with hosts of their own, in machines. */
import type { TenantsOptions } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { RUN_LIMITS } from '../playground/attempt.ts'

/** The tenants' folders. */
export const FOLDER = new URL('../../_tenants/', import.meta.url)

/** One of them, for the page. */
export interface Shown {
  readonly name: string
  readonly kind: string
  /** Paths worth asking for. */
  readonly tries: readonly { readonly path: string; readonly why: string }[]
}

/** All of them. */
export const TENANTS: readonly Shown[] = [
  {
    name: 'acme',
    kind: 'plain fetch',
    tries: [
      { path: '/', why: 'its greeting is data of tenant.json' },
      { path: '/count', why: 'always 1' },
      { path: '/throw', why: 'an error page of its own: 500' },
    ],
  },
  {
    name: 'shop',
    kind: 'a Hono app from npm',
    tries: [
      { path: '/', why: 'all items' },
      { path: '/items/2', why: 'one of them' },
      { path: '/items/9', why: 'none: a 404 of its own' },
    ],
  },
  {
    name: 'notes',
    kind: 'a file router of DVE views',
    tries: [
      { path: '/', why: 'pages/index.dve' },
      { path: '/rivers/isar', why: 'pages/rivers/isar.dve' },
      { path: '/rivers/inn', why: 'no such file: pages/404.dve' },
    ],
  },
]

/** Options of the router: tenants by name below `domain`, with the playground's limits, so that they share its machines. */
export function toTenants(domain: string, production: boolean): TenantsOptions {
  return {
    from: fromFileUrl(FOLDER),
    domain,
    watch: !production,
    defaults: { limits: RUN_LIMITS, requestsPerSecond: 20, concurrency: 4, waiting: 16 },
  }
}

/** The origin of a tenant, with scheme and port of the site's own address. */
export function originOf(name: string, domain: string, site: URL): string {
  return `${site.protocol}//${name}.${domain}${site.port === '' ? '' : `:${site.port}`}`
}
