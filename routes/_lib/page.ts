/** Renders a page of the site: what layouts need is put together here, once. */
import type { Awaitable, Context, RenderOptions } from '@mayfly/mayfly'
import { findPlate, PLATES } from './plates.ts'
import { siteOf } from './site.ts'
import { readSources } from './source.ts'

/** A page that a pager leads to. */
export interface Neighbour {
  readonly href: string
  readonly name: string
}

/** What a page says of itself. */
export interface PageOptions extends RenderOptions {
  /** Its address, which marks it in the menus. */
  readonly href: string
  readonly title?: string
  readonly description: string
  /** Files shown beside the demonstration. */
  readonly sources?: readonly string[]
  /** Scripts under /assets. */
  readonly scripts?: readonly string[]
  /** The pages before and after it, where they are none of the tour's. */
  readonly previous?: Neighbour
  readonly next?: Neighbour
  /** What the page itself shows. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** Renders the view `name` with the page's own data beside `page` and `site`. */
export async function renderPage(ctx: Context, name: string, options: PageOptions): Promise<Response> {
  const data = await pageData(ctx, options)
  const rendered: Awaitable<Response> = ctx.render(name, data, {
    status: options.status,
    stream: options.stream,
    headers: options.headers,
  })
  return rendered
}

/** The data of a page, as its view and the layouts above it see it. */
export async function pageData(ctx: Context, options: PageOptions): Promise<Record<string, unknown>> {
  const site = siteOf(ctx)
  const { plate, previous, next } = findPlate(options.href)
  const [assets, sources] = await Promise.all([
    site.assets(),
    readSources(site.root, site.sources, options.sources ?? []),
  ])
  return {
    ...options.data,
    page: {
      href: options.href,
      title: options.title ?? plate?.name ?? '',
      description: options.description,
      numeral: plate?.numeral,
      previous: options.previous ?? previous,
      next: options.next ?? next,
      sources,
      requestId: ctx.state.requestId,
      scripts: options.scripts ?? [],
      nonce: ctx.state.nonce ?? '',
      theme: themeOf(ctx),
    },
    site: { plates: PLATES, assets, version: site.version, deno: Deno.version.deno },
  }
}

function themeOf(ctx: Context): string {
  const theme = ctx.get.cookie('theme')
  return theme === 'light' || theme === 'dark' ? theme : ''
}
