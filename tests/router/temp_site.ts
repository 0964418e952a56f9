import { dirname, join } from '@std/path'

/** A project in a temporary folder, removed with `using`. */
export interface TempSite extends AsyncDisposable {
  readonly root: string
  readonly routesDir: string
  /** Writes `text` to a path below the project, with the folders it needs. */
  write(path: string, text: string): Promise<void>
  remove(path: string): Promise<void>
}

/** Makes a project from its files by path; `routes/` is its routes folder and always there. */
export async function tempSite(files: Record<string, string> = {}): Promise<TempSite> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: 'mayfly_router_' }))
  const site: TempSite = {
    root,
    routesDir: join(root, 'routes'),
    async write(path, text) {
      await Deno.mkdir(dirname(join(root, path)), { recursive: true })
      await Deno.writeTextFile(join(root, path), text)
    },
    remove: (path) => Deno.remove(join(root, path), { recursive: true }),
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  }
  await Deno.mkdir(site.routesDir)
  for (const [path, text] of Object.entries(files)) await site.write(path, text)
  return site
}

/** Calls `check` until it gives a truthy value; throws what it was waiting for after five seconds. */
export async function eventually<T>(what: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const until = Date.now() + 5000
  while (true) {
    const value = await check()
    if (value) return value
    if (Date.now() > until) throw new Error(`wait for a reload: ${what} did not come within 5 s`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
