/** The page of tenants. */
import type { Context } from '@mayfly/mayfly'
import { sayPhase } from '../isolation.ts'
import { renderPage } from '../page.ts'
import { type Attempt, prepare, RUN_LIMITS } from '../playground/attempt.ts'
import { siteOf } from '../site.ts'
import { EDITED, MAX_DRAFT, MAX_PATH, readMain } from './draft.ts'
import { originOf, TENANTS } from './tenants.ts'

/** What a visitor wrote, and what came of it. */
export interface Draft {
  readonly code: string
  readonly path: string
  readonly result: Attempt
}

/** Renders the page; with a draft where there is one. */
export async function showTenants(ctx: Context, draft?: Draft): Promise<Response> {
  const { isolation, playground, domain } = siteOf(ctx)
  prepare(playground)
  const here = new URL(ctx.get.url())
  return await renderPage(ctx, 'tenants', {
    href: '/tenants',
    description: 'Three sites behind this server, each found by its host, each in machines of its own.',
    scripts: ['tenants.js'],
    sources: [
      'routes/_tenants/acme/main.ts',
      'routes/_tenants/acme/tenant.json',
      'routes/_tenants/shop/main.ts',
      'routes/_tenants/shop/tenant.json',
      'routes/_tenants/notes/main.ts',
      'routes/_tenants/notes/layout.dve',
      'routes/_tenants/notes/pages/index.dve',
      'routes/_lib/tenants/tenants.ts',
      'routes/_lib/tenants/draft.ts',
    ],
    data: {
      isolation: { phase: isolation.phase, text: sayPhase(isolation) },
      tenants: TENANTS.map(({ name, kind, tries }) => ({
        name,
        kind,
        host: `${name}.${domain}`,
        origin: originOf(name, domain, here),
        tries: tries.map(({ path, why }) => ({
          path,
          why,
          href: `/tenants/ask?tenant=${name}&path=${encodeURIComponent(path)}`,
        })),
      })),
      edited: `${EDITED}.${domain}`,
      code: draft?.code ?? await readMain(),
      path: draft?.path ?? '/',
      result: draft?.result,
      limits: { ...RUN_LIMITS, draft: MAX_DRAFT, path: MAX_PATH },
    },
  })
}
