/** A set of folders under watch; one of them may vanish and come back. */
export interface FolderWatch {
  /** The folders wanted, existing or not. */
  readonly folders: ReadonlySet<string>
  readonly recursive: boolean
  readonly onPaths: (paths: readonly string[]) => void
  readonly onFailure: (error: unknown) => void
  watcher: Deno.FsWatcher | null
  /** The loops that read from watchers, the closed ones until they end. */
  readonly loops: Set<Promise<void>>
}

/** Makes a watch without folders; `watchFolders` opens it. */
export function createFolderWatch(
  options: Pick<FolderWatch, 'recursive' | 'onPaths' | 'onFailure'>,
): FolderWatch {
  return { ...options, folders: new Set(), watcher: null, loops: new Set() }
}

/**
 * Watches `folders` from now on, those that exist. The new watcher opens before the old one closes, so that nothing
 * falls between. Watching the same folders again is needed after one was made anew.
 */
export function watchFolders(watch: FolderWatch, folders: Iterable<string>): void {
  const wanted = [...folders]
  const former = watch.watcher
  watch.watcher = open(wanted.filter(isFolder), watch.recursive)
  former?.close()
  const mutable = watch.folders as Set<string>
  mutable.clear()
  for (const folder of wanted) mutable.add(folder)
  if (watch.watcher === null) return
  const loop = read(watch, watch.watcher).finally(() => watch.loops.delete(loop))
  watch.loops.add(loop)
}

/** Closes the watcher and waits for its loop. */
export async function closeFolderWatch(watch: FolderWatch): Promise<void> {
  watch.watcher?.close()
  watch.watcher = null
  await Promise.all(watch.loops)
}

function open(folders: readonly string[], recursive: boolean): Deno.FsWatcher | null {
  if (folders.length === 0) return null
  try {
    return Deno.watchFs([...folders], { recursive })
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    // One of them went away since it was looked at: its parent is under watch and shows when it is back.
    const left = folders.filter(isFolder)
    return left.length < folders.length ? open(left, recursive) : null
  }
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory
  } catch {
    return false
  }
}

async function read(watch: FolderWatch, watcher: Deno.FsWatcher): Promise<void> {
  try {
    for await (const { kind, paths } of watcher) {
      if (kind !== 'access') watch.onPaths(paths)
    }
  } catch (error) {
    if (watch.watcher === watcher) watch.onFailure(error)
  }
}
