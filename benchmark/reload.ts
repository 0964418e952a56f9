/**
 * `deno task bench --reload`: what 1000 reloads of a route leave in memory, beside what the runtime itself keeps of a module
 * that is imported 1000 times under new names, which nobody can release.
 */
import { fromFileUrl, join, toFileUrl } from '@std/path'
import { type HotReload, startHotReload, stopHotReload } from '../src/router/reload/watch.ts'
import { mebibytes, memoryAfterCollection, runAlone } from './measure.ts'

const RELOADS = 1000

/** A route of some size, another one for each `version`. */
function routeSource(version: number): string {
  const lines = Array.from({ length: 20 }, (_, i) => `const text${i} = 'version ${version}, line ${i}'`)
  return `${lines.join('\n')}\nexport const GET = () => new Response(String(${version}) + text0)\n`
}

/** Runs both measurements in processes of their own. */
export async function main(): Promise<void> {
  await runAlone(fromFileUrl(import.meta.url), ['runtime'])
  await runAlone(fromFileUrl(import.meta.url), ['mayfly'])
}

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir())
  try {
    await body(folder)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

/** What the runtime keeps: the same modules, imported one after another without Mayfly. */
async function measureRuntime(): Promise<void> {
  await inFolder(async (folder) => {
    const file = join(folder, 'route.ts')
    const load = async (version: number) => {
      await Deno.writeTextFile(file, routeSource(version))
      await import(`${toFileUrl(file).href}?version=${version}`)
    }
    for (let version = 0; version < 20; version++) await load(version)
    const before = memoryAfterCollection()
    for (let version = 20; version < 20 + RELOADS; version++) await load(version)
    tell('runtime alone', before)
  })
}

async function measureMayfly(): Promise<void> {
  await inFolder(async (folder) => {
    const routesDir = join(folder, 'routes')
    const file = join(routesDir, 'index.ts')
    await Deno.mkdir(routesDir)
    await Deno.writeTextFile(file, routeSource(0))
    let arrived = Promise.withResolvers<void>()
    const hot: HotReload = await startHotReload({
      routesDir,
      root: folder,
      debounceMs: 5,
      onTable: () => arrived.resolve(),
    })
    const reload = async (version: number) => {
      arrived = Promise.withResolvers<void>()
      await Deno.writeTextFile(file, routeSource(version))
      await arrived.promise
    }
    try {
      for (let version = 1; version <= 20; version++) await reload(version)
      const before = memoryAfterCollection()
      for (let version = 21; version <= 20 + RELOADS; version++) await reload(version)
      tell('mayfly', before)
    } finally {
      await stopHotReload(hot)
    }
  })
}

function tell(name: string, before: Deno.MemoryUsage): void {
  const after = memoryAfterCollection()
  const heap = after.heapUsed - before.heapUsed
  console.log(
    `${RELOADS} reloads, ${name.padEnd(14)} heap ${mebibytes(heap)} (${
      (heap / RELOADS / 1024).toFixed(1)
    } KiB each), ` +
      `resident ${mebibytes(after.rss - before.rss)}`,
  )
}

if (import.meta.main) {
  if (Deno.args[0] === 'runtime') await measureRuntime()
  else if (Deno.args[0] === 'mayfly') await measureMayfly()
  else await main()
}
