/**
 * Where a module lies as its program sees it: the project is the root of the file system, and packages lie as Deno lays out a
 * `node_modules`. The host's own paths are none of a guest's business, and no other machine has them.
 *
 * ```text
 * <project>/routes/users.ts                     /routes/users.ts
 * <cache>/npm/<registry>/@a/b/1.2.3/lib/c.js    /node_modules/.deno/@a+b@1.2.3/node_modules/@a/b/lib/c.js
 * ```
 */
import { isPackageFile } from './deno_resolve.ts'

const CACHED = /\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/([^/]+)(\/.*)$/

/** The path of a file in the guest. `project` is a real path. */
export async function toGuestPath(path: string, project: string): Promise<string> {
  if (path.startsWith(`${project}/`)) return path.slice(project.length)
  const real = Deno.realPathSync(path)
  if (real.startsWith(`${project}/`)) return real.slice(project.length)
  const [, name, version, rest] = (await isPackageFile(path) ? CACHED.exec(path) : null) ?? []
  if (name === undefined) return `/${path.slice(path.lastIndexOf('/') + 1)}`
  return `/node_modules/.deno/${name.replace('/', '+')}@${version}/node_modules/${name}${rest}`
}
