import { type HotReload, startHotReload, stopHotReload } from '../../src/router/reload/watch.ts'
import { tempSite } from './temp_site.ts'

/** Sizes of what hot reload itself keeps. */
export interface Sizes {
  readonly modules: number
  readonly edges: number
  readonly cached: number
  readonly folders: number
  readonly watchers: number
  readonly pending: number
  readonly listeners: number
}

function sizesOf(hot: HotReload): Sizes {
  const nodes = [...hot.graph.nodes.values()]
  return {
    modules: nodes.length,
    edges: nodes.reduce((sum, node) => sum + node.imports.size + node.importers.size, 0),
    cached: hot.cache.routes.size + hot.cache.middleware.size + hot.cache.errors.size,
    folders: hot.deep.folders.size + hot.flat.folders.size,
    watchers: hot.deep.loops.size + hot.flat.loops.size,
    pending: hot.debounce.keys.size,
    listeners: hot.graph.onGrow.size,
  }
}

/**
 * Saves a helper of two routes `count` times and waits for each reload, every tenth with a file that comes and goes.
 * Gives the sizes after the first tenth and at the end; `onTenth` is called after each tenth.
 */
export async function reloadCycle(
  count: number,
  onTenth: () => void = () => {},
): Promise<{ first: Sizes; last: Sizes; reloads: number }> {
  await using site = await tempSite({
    'lib/text.ts': `export const text = 0`,
    'lib/helper.ts': `export * from './text.ts'`,
    'routes/_middleware.ts': `export default () => {}`,
    'routes/a.ts': `import { text } from '../lib/helper.ts'\nexport const GET = () => text`,
    'routes/b.ts': `import { text } from '../lib/text.ts'\nexport const GET = () => text`,
  })
  let reloads = 0
  const hot = await startHotReload({
    routesDir: site.routesDir,
    debounceMs: 1,
    onTable: () => reloads++,
    onNotice: ({ error }) => {
      if (error !== undefined) throw error
    },
  })
  let first = sizesOf(hot)
  try {
    for (let index = 1; index <= count; index++) {
      await site.write('lib/text.ts', `export const text = ${index}`)
      const came = () => hot.table.routes.filter((route) => route.handlers.GET?.() === index).length === 2
      await soon(came)
      if (index % 10 === 0) {
        await site.write('routes/extra.ts', `export const GET = () => 0`)
        await soon(() => hot.table.routes.length === 3)
        await site.remove('routes/extra.ts')
        await soon(() => hot.table.routes.length === 2)
      }
      if (index % Math.ceil(count / 10) !== 0) continue
      await soon(() => hot.debounce.running === null && hot.debounce.timer === null)
      if (index === Math.ceil(count / 10)) first = sizesOf(hot)
      onTenth()
    }
    await soon(() => hot.debounce.running === null && hot.debounce.timer === null)
    return { first, last: sizesOf(hot), reloads }
  } finally {
    await stopHotReload(hot)
  }
}

async function soon(check: () => boolean): Promise<void> {
  const until = Date.now() + 5000
  while (!check()) {
    if (Date.now() > until) throw new Error('wait for a reload: it did not come within 5 s')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
