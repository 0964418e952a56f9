import { type Handler, HttpError } from '@mayfly/mayfly'
import { siteOf } from '../_lib/site.ts'

/** Charts that `deno task bench` writes, and where they lie. */
const CHARTS: ReadonlyMap<string, string> = new Map(
  ['bench.svg', 'packages.svg', 'sandbox.svg'].map((name) => [name, `benchmark/results/${name}`]),
)

export const GET: Handler = async (ctx) => {
  const path = CHARTS.get(ctx.get.param('name') ?? '')
  if (path === undefined) throw new HttpError(404, 'There is no such chart')
  const svg = await Deno.readTextFile(new URL(path, siteOf(ctx).root))
  // A chart brings its style with it.
  ctx.set.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
  return ctx.send.custom(svg, { headers: { 'content-type': 'image/svg+xml' } })
}
