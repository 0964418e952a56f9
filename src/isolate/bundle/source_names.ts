/** How the source map of a bundle names the modules in it: as whoever runs the bundle knows them, and no path of the host. */
import { fromFileUrl, relative } from '@std/path'
import { sourceUrlOf } from '../plan/stack.ts'
import { toGuestPath } from '../resolve/guest_path.ts'

/** Where a bundle's modules come from. */
export interface SourceFolders {
  /** Modules in it are named from there. */
  readonly own: string
  /** Of this project, and of packages, the others. Real path. */
  readonly project: string
}

/** The map with names for its sources; those that are Mayfly's own have none. */
export async function nameSources(map: string, folders: SourceFolders): Promise<string> {
  const parsed = JSON.parse(map) as { sources: string[] }
  const sources = await Promise.all(parsed.sources.map((source) => nameOf(source, folders)))
  return JSON.stringify({ ...parsed, sources })
}

async function nameOf(source: string, { own, project }: SourceFolders): Promise<string | null> {
  const url = sourceUrlOf(source)
  if (url === null) return null
  const given = /^given:(\/.*)$/.exec(url)?.[1]
  if (given === undefined && !url.startsWith('file:')) return /^https?:/.test(url) ? url : null
  const path = given ?? fromFileUrl(url)
  return path.startsWith(`${own}/`) ? relative(own, path) : await toGuestPath(path, project)
}
