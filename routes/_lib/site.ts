/** What every page of the site shares. `createSite` makes it and middleware puts it into `ctx.state.site`. */
import type { Context, Engine, Router, RouteRow } from '@mayfly/mayfly'
import type { Feed } from './feed.ts'
import type { Guestbook } from './guestbook.ts'
import type { Editor } from './playground/editor.ts'
import type { Playground } from './playground/attempt.ts'
import type { Isolation } from './isolation.ts'
import type { SourceCache } from './source.ts'

/** The site's own state; one for each router. */
export interface Site {
  /** The project's folder. */
  readonly root: URL
  readonly production: boolean
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly feed: Feed
  readonly guestbook: Guestbook
  readonly isolation: Isolation
  readonly sources: SourceCache
  /** Renders what visitors write, within tight limits. */
  readonly templates: Engine
  /** Runs what visitors write, in machines of their own. */
  readonly playground: Playground
  /** The editor of the playground, bundled at its first use. */
  readonly editor: () => Promise<Editor>
  /** Where the second server is, `http://127.0.0.1:PORT`; undefined where there is none. */
  readonly neighbour: string | undefined
  /** Tenants have hosts below it. */
  readonly domain: string
  /** The router's own, to ask a tenant without a socket. */
  readonly fetch: Router['fetch']
  readonly routes: () => RouteRow[]
  /** A digest of the files under /assets, so that browsers may keep them for good. */
  readonly assets: () => Promise<string>
  /** It has no JSON form: what has one would go into the machines of isolated handlers. */
  readonly toJSON: () => undefined
}

/** The site that answers this request. */
export function siteOf(ctx: Context): Site {
  const { site } = ctx.state
  if (site === undefined) {
    throw new Error('Cannot find the site: ctx.state.site is not set, want a router of createSite')
  }
  return site as Site
}
