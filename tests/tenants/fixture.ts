/** Tenants in a folder of their own, and a router over them. */
import { type LifecycleEvent, Router, type RouterOptions, type TenantsOptions } from '@mayfly/mayfly'
import { dirname, join } from '@std/path'
import type { Answer } from '../isolated/fixture.ts'

/** Files by their path below the folder of tenants. */
export type Files = Readonly<Record<string, string>>

/** A router with tenants, and what it told. */
export interface TenantSite {
  readonly router: Router
  readonly events: LifecycleEvent<`tenant:${string}` & LifecycleEvent['kind']>[]
  /** The folder of tenants. */
  readonly dir: string
  /** Status, text and headers of a request to a host; `path` starts with a slash. */
  ask(host: string, path?: string, init?: RequestInit): Promise<Answer>
  write(files: Files): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a site is made of beside its tenants. */
export interface SiteOptions extends Omit<RouterOptions, 'tenants' | 'routesDir'> {
  readonly files?: Files
  /** Default: the folder. */
  readonly tenants?: Partial<TenantsOptions>
}

/** Writes the files and makes a router with one route, `/`, of its own. */
export async function openTenants(
  { files = {}, tenants = {}, ...options }: SiteOptions,
): Promise<TenantSite> {
  const root = await Deno.makeTempDir({ prefix: 'mayfly-tenants-' })
  const dir = join(root, 'tenants')
  await writeFiles(root, { 'routes/index.ts': "export const GET = (ctx) => ctx.send.text('the router')" })
  await Deno.mkdir(dir)
  await writeFiles(dir, files)
  const router = new Router({
    routesDir: join(root, 'routes'),
    hotReload: false,
    requestTimeoutMs: 0,
    isolate: { vms: 1 },
    ...options,
    tenants: { from: dir, domain: 'localhost', ...tenants },
  })
  const events: TenantSite['events'] = []
  router.on('tenant:*', (event) => void events.push(event))
  return {
    router,
    events,
    dir,
    async ask(host, path = '/', init) {
      const response = await router.fetch(new Request(`http://${host}${path}`, init))
      return { status: response.status, text: await response.text(), headers: response.headers }
    },
    write: (files) => writeFiles(dir, files),
    async [Symbol.asyncDispose]() {
      await router.close()
      await Deno.remove(root, { recursive: true })
    },
  }
}

async function writeFiles(dir: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(dir, path)), { recursive: true })
    await Deno.writeTextFile(join(dir, path), text)
  }
}

/** A program that answers with a text. */
export function says(text: string): string {
  return `export default { fetch: () => new Response(${JSON.stringify(text)}) }`
}
